// Polls the daemon once a second, and shows what it says. Changes nothing in the daemon.

const sources = [
  {key: 'cache', label: 'cache', tone: 'cache'},
  {key: 'provider', label: 'provider', tone: 'provider'},
  {key: 'system', label: 'system', tone: 'system'},
  {key: 'stale', label: 'stale', tone: 'stale'},
];
const origins = [
  ...sources, {key: 'local', label: 'local', tone: 'local'},
  {key: 'blocked', label: 'blocked', tone: 'blocked'}, {key: 'failed', label: 'failed', tone: 'failure'},
];
const every = 1000; // milliseconds
const patience = 5000;
const sharing = 10; // seconds that shares and percentiles are taken over
const smoothing = 3; // seconds that rates are taken over
const namesEvery = 5; // seconds
const showsNames = document.documentElement.dataset.names === 'yes';

const place = id => document.getElementById(id);
const charts = {
  rate: new Chart(place('rate'), {title: 'Responses per second', series: origins, isStacked: true}),
  latency: new Chart(place('latency'), {
    title: 'Latency, 99th percentile', series: sources, isLogarithmic: true, text: time,
  }),
  share: new Chart(place('share'), {
    title: 'Answered from the cache', series: [{key: 'hits', label: 'of all questions', tone: 'cache'}], limit: 1,
    text: percent, isFilled: true,
  }),
  memory: new Chart(place('memory'), {
    title: 'Memory', text: bytes, isBinary: true, series: [
      {key: 'resident', label: 'RSS', tone: 'local'}, {key: 'anonymous', label: 'private', tone: 'provider'},
      {key: 'cache', label: 'cache', tone: 'cache'},
    ],
  }),
  failures: new Chart(place('failures'), {
    title: 'Failures per second', isStacked: true, series: [
      {key: 'failed', label: 'failed', tone: 'failure'}, {key: 'dropped', label: 'dropped', tone: 'stale'},
    ],
  }),
};

let history = []; // {at, stats, point}, the oldest first; both are null if the daemon did not answer
let storedPoints = []; // points of the daemon's memory, without values where it has none
let historyDue = 0, namesDue = 0;
let isPaused = false;
let shown = {};
const sentenceOfPanel = new Map(); // shown in place of an empty panel
const alarms = new Map();

// MARK: figures

/// Returns the sample that is `seconds` older, or null if the daemon was down or restarted in between.
function before(index, seconds) {
  const newer = history[index];
  for (let other = index - 1; other >= 0; other--) {
    const older = history[other];
    if (!older.stats || older.stats.uptime_s > newer.stats.uptime_s) return null;
    if (newer.at - older.at >= seconds - 0.5) return older;
  }
  return null;
}

const sum = counts => Object.values(counts).reduce((total, count) => total + count, 0);

function rates(index) {
  const newer = history[index], older = newer.stats && (before(index, smoothing) ?? before(index, 1));
  if (!older) return null;
  const rate = pick => Math.max(0, pick(newer.stats) - pick(older.stats)) / (newer.at - older.at);
  const values = {};
  for (const {key} of sources) values[key] = rate(stats => stats.responses[key]);
  values.local = rate(({responses}) => responses.local + responses.fallback);
  values.blocked = rate(({responses}) => responses.blocked);
  values.failed = rate(({responses}) => responses.failure + responses.refused + responses.limited);
  values.queries = rate(stats => stats.queries.total);
  values.dropped = rate(stats => sum(stats.dropped));
  return values;
}

/// Returns the sample 10 s earlier, else 3 s, else 1 s.
function recent(index) {
  const newer = history[index];
  if (!newer.stats) return null;
  return before(index, sharing) ?? before(index, 3) ?? before(index, 1);
}

const share = (hits, misses) => ({hits: hits + misses > 0 ? hits / (hits + misses) : NaN});

function hitShare(index) {
  const older = recent(index), newer = history[index];
  if (!older) return null;
  return share(newer.stats.cache.hits - older.stats.cache.hits, newer.stats.cache.misses - older.stats.cache.misses);
}

/// Interpolates a percentile in microseconds. The upper bound of bucket n is 2^n; counts are not cumulative.
function percentile(counts, part) {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total <= 0) return NaN;
  let below = 0;
  for (let bucket = 0; bucket < counts.length; bucket++) {
    if (below + counts[bucket] >= part * total && counts[bucket] > 0) {
      const low = bucket === 0 ? 0 : 2 ** (bucket - 1);
      const high = 2 ** Math.min(bucket, counts.length - 2);
      return low + (high - low) * (part * total - below) / counts[bucket];
    }
    below += counts[bucket];
  }
  return NaN;
}

function latencies(index, part) {
  const older = recent(index), newer = history[index];
  if (!older) return null;
  const values = {};
  for (const {key} of sources) {
    const [now, then] = [newer.stats.durations[key], older.stats.durations[key]];
    values[key] = now ? percentile(now.counts.map((count, bucket) => count - (then?.counts[bucket] ?? 0)), part) : NaN;
  }
  return values;
}

/// What the charts show of one moment.
function point(index) {
  const {at, stats} = history[index];
  if (!stats) return null;
  const rate = rates(index);
  return {
    at, rate, failures: rate, share: hitShare(index), latency: latencies(index, 0.99),
    memory: {resident: stats.process.rss_bytes, anonymous: stats.process.anon_bytes, cache: stats.cache.bytes},
    providers: Object.fromEntries(stats.providers.map(({name, latency_ms: {p50}}) => [name, p50 || NaN])),
  };
}

/// Makes points of the daemon's memory, whose columns have a number per step, or "-".
function pointsOfHistory(report, now) {
  const columns = group => Object.entries(group).map(([key, text]) => [key, text ? text.split(' ').map(Number) : []]);
  const counts = columns(report.counts), memory = columns(report.memory);
  const latency = columns(report.latency_us), providers = columns(report.providers);
  const length = counts[0][1].length;
  const row = (group, index, factor) =>
    Object.fromEntries(group.map(([key, values]) => [key, values[index] * factor]));
  return Array.from({length}, (_, index) => {
    const at = now - report.age_s - (length - 1 - index + 0.5) * report.step_s; // the middle of the step
    const rate = row(counts, index, 1 / report.step_s);
    if (!isKnown(rate.cache)) return {at};
    return {
      at, rate, failures: rate, share: share(rate.hits, rate.misses), latency: row(latency, index, 1),
      memory: row(memory, index, 1024), providers: row(providers, index, 1),
    };
  });
}

/// The points within the span, the oldest first. Of the last minutes, those of each second come first.
function points(now) {
  // The first answers have no rates yet.
  const first = history.findIndex(({point}) => point?.rate);
  const live = span === spans.minutes && first >= 0 ? history.slice(first).map(({at, point}) => point ?? {at}) : [];
  const isNear = at => live.some(sample => Math.abs(sample.at - at) < 4);
  return [...storedPoints.filter(({at}) => !isNear(at)), ...live].filter(({at}) => at > now - span)
    .sort((one, other) => one.at - other.at);
}

// MARK: showing

function rows(id, key, make) {
  // Unchanged rows are not replaced, so that a text selection and the screen reader position survive.
  const text = JSON.stringify(key);
  if (shown[id] === text) return;
  shown[id] = text;
  place(id).replaceChildren(...make());
}

/// Shows a panel, or a sentence in its place.
function panel(id, isFilled, sentence) {
  place(id + '-panel').hidden = !isFilled;
  if (isFilled) sentenceOfPanel.delete(id); else sentenceOfPanel.set(id, sentence);
}

const number = text => make('td', {class: 'number'}, text);
const words = (...children) => make('td', {class: 'words'}, ...children);
const moment = seconds => new Date(seconds * 1000).toLocaleString('sv');
const faint = text => make('span', {class: 'faint'}, text);

function item(head, aside, ...lines) {
  return make('li', {}, make('div', {class: 'head'}, head, make('span', {class: 'aside'}, aside)),
    ...lines.filter(line => line).map(line => make('div', {}, line)));
}

function named({name, type}, withType = true) {
  const button = make('button', {type: 'button', class: 'name', 'aria-label': 'explain ' + name + ' ' + type},
    name + (withType ? ' ' + type : ''));
  button.addEventListener('click', () => explain(name, type));
  return button;
}

function tile(label, value, more, isBad = false) {
  return make('div', {class: isBad ? 'tile bad' : 'tile'}, make('span', {}, label),
    make('span', {class: 'value'}, value), make('span', {title: more}, more));
}

function showTiles(stats, last) {
  const rate = rates(last), hits = hitShare(last), slow = latencies(last, 0.99), usual = latencies(last, 0.5);
  const failing = rate ? rate.failed + rate.dropped : NaN;
  rows('tiles', [history[last].at], () => [
    tile('queries per s', short(rate?.queries ?? NaN), grouped(stats.queries.total) + ' in all'),
    tile('from the cache', percent(hits?.hits ?? NaN), 'last ten seconds'),
    tile('cached, p99', time(slow?.cache ?? NaN), 'p50 ' + time(usual?.cache ?? NaN)),
    tile('fetched, p99', time(slow?.provider ?? NaN), 'p50 ' + time(usual?.provider ?? NaN)),
    tile('failing per s', short(failing), grouped(stats.responses.failure) + ' failed in all', failing > 0),
    tile('waiting', short(stats.inflight), 'without an answer'),
    tile('cache of ' + bytes(stats.cache.limit_bytes), bytes(stats.cache.bytes),
      short(stats.cache.entries) + ' entries'),
    tile('memory, RSS', bytes(stats.process.rss_bytes), 'private ' + bytes(stats.process.anon_bytes)),
  ]);
}

const verdictTones = {verified: 'good', connected: 'good', 'name-mismatch': 'bad', untrusted: 'bad'};

function showVerdicts(probe) {
  const verdicts = Object.entries(probe.verdicts).filter(([, count]) => count > 0).sort((one, two) => two[1] - one[1]);
  const most = Math.max(1, ...verdicts.map(([, count]) => count));
  rows('verdicts', verdicts, () => verdicts.map(([verdict, count]) =>
    make('li', {class: verdictTones[verdict] ?? 'fair'}, make('span', {}, verdict),
      make('progress', {max: most, value: count, 'aria-label': verdict}),
      make('span', {class: 'number'}, grouped(count)))));
  const kept = counted(probe.quarantined, 'address is', 'addresses are') + ' kept from clients; ';
  const busy = counted(probe.running, 'probe runs', 'probes run') + ', ' + counted(probe.waiting, 'waits', 'wait');
  place('quarantine').textContent = kept + busy;
  panel('verdicts', verdicts.length, 'No probe has ended yet.');
}

function showBlocked({rules, lists, others}) {
  const all = [...Object.entries(lists), ...Object.entries(rules), ['other rules', others]];
  const most = all.filter(([, count]) => count > 0).sort((one, two) => two[1] - one[1]).slice(0, 10);
  rows('blocked', most, () => most.map(([rule, count]) => make('tr', {}, words(rule), number(grouped(count)))));
  panel('blocked', most.length, 'No rule has blocked a name.');
}

const stateTone = state => state === 'up' ? 'good' : ['down', 'blocked'].includes(state) ? 'bad' : 'fair';

function showProviders({providers, system, durations}, shownPoints) {
  const pause = provider => provider.retry_s === undefined ? '' : ', ' + grouped(provider.retry_s) + ' s';
  const measured = milliseconds => milliseconds ? time(milliseconds * 1000) : '–';
  const kinds = failures => Object.entries(failures).filter(([, count]) => count > 0)
    .map(([kind, count]) => kind + ' ' + grouped(count)).join(', ');
  const row = (name, state, curve, p50, p95, first, success, requests, failures, kinds, credibility) =>
    make('tr', {}, make('th', {scope: 'row'}, name), make('td', {}, state), make('td', {}, curve), number(p50),
      number(p95), number(first), number(success), number(grouped(requests)), number(grouped(failures)),
      words(kinds || '–'), number(percent(credibility)));
  const systems = part => system.requests ? time(percentile(durations.system?.counts ?? [], part)) : '–';
  rows('providers', [span, shownPoints.length, providers, system.requests], () => [
    ...providers.map(provider => row(
      provider.name,
      make('span', {class: 'state ' + stateTone(provider.state)}, provider.state + pause(provider)),
      sparkline(shownPoints.map(({at, providers}) => ({at, value: providers?.[provider.name] ?? NaN}))),
      measured(provider.latency_ms.p50), measured(provider.latency_ms.p95), percent(provider.share ?? NaN),
      percent(provider.success ?? NaN), provider.requests, sum(provider.failures), kinds(provider.failures),
      provider.trust)),
    row('system resolver', faint(system.servers.length ? 'last resort' : 'none'), '', systems(0.5), systems(0.95), '–',
      percent(system.requests ? 1 - system.failures / system.requests : NaN), system.requests, system.failures, '',
      system.trust),
  ]);
  const isDown = providers.length && providers.every(({state}) => ['down', 'blocked'].includes(state));
  alarms.set('providers', isDown ? 'No provider answers; the system resolver and expired answers stand in.' : '');
  showAlarms();
}

/// The order of the audit: the fewest and lightest findings first, as the daemon ranks them.
function showAudit(providers) {
  const audited = providers.map(({audit}) => audit).filter(audit => audit?.week.requests > 0)
    .sort((one, two) => one.rank - two.rank);
  const part = ({count, of}) => of ? percent(count / of) + ' of ' + short(of) : '–';
  const measured = milliseconds => milliseconds === undefined ? '–' : time(milliseconds * 1000);
  rows('audit', audited, () => audited.map(({name, verdict, advice, price, week}) => make('tr', {},
    make('th', {scope: 'row'}, name), words(verdict, ...advice.map(text => make('div', {class: 'faint'}, text))),
    number(part(week.forged)), number(part(week.denied)), number(part(week.expired)), number(part(week.late)),
    number(part(week.failed)), number(measured(week.reply_ms)), number(measured(week.connect_ms)),
    number(measured(week.others_connect_ms)), number(price === undefined ? '–' : String(price)))));
  panel('audit', audited.length, 'No provider was asked yet.');
}

/// Of "alidns: timeout", "google: timeout" makes " (timeout: alidns, google)".
function causes(sources) {
  const byCause = new Map();
  for (const source of sources) {
    const [name, ...cause] = source.split(': ');
    byCause.set(cause.join(': '), [...byCause.get(cause.join(': ')) ?? [], name]);
  }
  const texts = [...byCause].map(([cause, names]) => cause + ': ' + names.join(', '));
  return texts.length ? ' (' + texts.join('; ') + ')' : '';
}

function showNames({asked, failed, evidence}) {
  const most = Math.max(...asked.map(each => each.per_second));
  rows('asked', asked, () => asked.map(each => make('tr', {}, words(named(each, false)), make('td', {}, each.type),
    number(short(each.per_second * 60)), make('td', {}, make('progress', {
      max: most, value: each.per_second, 'aria-label': 'share of the first',
    })))));
  panel('asked', asked.length, 'No name was asked lately.');
  rows('failed', failed, () => failed.map(each => item(named(each), ago(each.age_s) + ' ago',
    make('span', {class: each.over ? 'state good' : 'state bad'}, (each.over ? 'answered since: ' : 'failed: ')
      + each.reason + (each.times > 1 ? ', ' + grouped(each.times) + ' times' : ''), faint(causes(each.sources))))));
  panel('failed', failed.length, 'No name has failed.');
  showEvidence(evidence);
}

function showEvidence(evidence) {
  rows('evidence', evidence.map(each => each.number), () => [...evidence].reverse().map(each => item(
    named(each), moment(each.seconds),
    each.mismatched.source + ' gave ' + each.mismatched.address + ': ' + each.mismatched.verdict
      + (each.mismatched.detail ? ', ' + each.mismatched.detail : ''),
    each.verified ? faint('verified: ' + each.verified.address + ' of ' + each.verified.source) : '')));
  panel('evidence', evidence.length, 'No forged address was found.');
}

function showAlarms() {
  const text = [...alarms.values()].filter(each => each).join(' ');
  place('alert').hidden = !text;
  if (place('alert').textContent !== text) place('alert').textContent = text;
}

function showNetwork(network, changes) {
  const known = ({id, words}) => id ? id + (words ? ' (' + words + ')' : '') : 'none';
  place('network').textContent = network ? 'network ' + known(network) : 'network not watched';
  // The duration is removed, because a screen reader reads each changed alert aloud.
  const portal = network?.portal?.replace(/^suspected for [^:]*: /, '');
  alarms.set('portal', portal ? 'Captive portal: ' + portal : '');
  showAlarms();
  rows('changes', changes, () => [...changes].reverse().slice(0, 10).map(change => item(
    make('span', {}, change.cause + (change.recovery_ms === undefined ? ''
      : ': first fresh answer after ' + grouped(change.recovery_ms) + ' ms')),
    moment(change.seconds), faint('network ' + known(change)))));
  panel('changes', changes.length, 'The network has not changed.');
}

function showSentences() {
  if (!showsNames) {
    sentenceOfPanel.set('names',
      'Names and explanations are shown only to a browser on this machine, such as through ssh -L.');
  }
  const text = [...sentenceOfPanel.values()].join(' ');
  if (place('quiet').textContent !== text) place('quiet').textContent = text;
  const stacks = [...document.querySelectorAll('.stack')];
  for (const stack of stacks) stack.hidden = ![...stack.children].some(child => !child.hidden);
  for (const stack of stacks) stack.classList.toggle('alone', stacks.some(other => other.hidden));
}

function show(figures) {
  const now = performance.now() / 1000, last = history.length - 1;
  const all = points(now);
  for (const [key, chart] of Object.entries(charts)) {
    chart.show(all.map(each => ({at: each.at, values: each[key]})), now);
  }
  const hasFailures = all.some(({failures}) => failures?.failed > 0 || failures?.dropped > 0);
  panel('failures', hasFailures, 'No query failed or was dropped in the last ' + spanWords() + '.');
  place('main').classList.toggle('calm', !hasFailures);
  if (figures) {
    const {stats} = figures;
    place('version').textContent = stats.version + ', up ' + ago(stats.uptime_s);
    showTiles(stats, last);
    showVerdicts(stats.probe);
    showBlocked(stats.blocked);
    showProviders(stats, all);
    showAudit(stats.providers);
    showNetwork(figures.network, figures.changes);
  }
  showSentences();
}

// MARK: asking

function showLink(state, text) {
  const link = place('link');
  if (link.textContent !== text) link.textContent = text;
  link.className = state;
}

async function fetchJSON(path) {
  const answer = await fetch(path, {cache: 'no-store', signal: AbortSignal.timeout(patience)});
  if (!answer.ok) throw new Error('status ' + answer.status);
  return answer.json();
}

/// Fills the charts with the daemon's memory, and the tables with names, each in its own time.
async function pollHistoryAndNames() {
  const now = performance.now() / 1000;
  if (now >= historyDue) {
    const wanted = span;
    const report = await fetchJSON('/history.json?span=' + (span === spans.day ? '24h' : '1h'));
    if (wanted === span) {
      storedPoints = pointsOfHistory(report, performance.now() / 1000);
      historyDue = now + report.step_s;
    }
  }
  if (showsNames && now >= namesDue && !isPaused) {
    showNames(await fetchJSON('/names.json'));
    namesDue = now + namesEvery;
  }
}

async function poll() {
  let figures = null, at = null;
  try {
    figures = await fetchJSON('/status.json');
    at = performance.now() / 1000;
    if (history.at(-1)?.stats?.uptime_s > figures.stats.uptime_s) historyDue = 0;
    await pollHistoryAndNames();
    showLink('live', 'live');
  } catch {
    showLink('dead', 'the daemon does not answer');
    historyDue = namesDue = 0;
  }
  at ??= performance.now() / 1000;
  history.push({at, stats: figures?.stats ?? null});
  history.at(-1).point = point(history.length - 1);
  while (history[0].at < at - spans.minutes) history.shift();
  if (!isPaused) show(figures);
}

async function run() {
  for (;;) {
    const began = performance.now();
    await poll();
    await new Promise(resolve => setTimeout(resolve, Math.max(0, every - (performance.now() - began))));
  }
}

async function explain(name, type) {
  place('name').value = name;
  place('type').value = type;
  if (place('type').value !== type) {
    place('type').append(make('option', {}, type));
    place('type').value = type;
  }
  const out = place('explanation');
  let text;
  try {
    const wanted = '/explain?name=' + encodeURIComponent(name) + '&type=' + encodeURIComponent(type);
    const answer = await fetch(wanted, {cache: 'no-store', signal: AbortSignal.timeout(patience)});
    text = await answer.text();
  } catch {
    text = 'the daemon does not answer';
  }
  out.textContent = text.trimEnd();
  out.hidden = place('close').hidden = false;
  place('explain-panel').scrollIntoView({block: 'nearest'});
  out.focus();
}

place('explain').addEventListener('submit', event => {
  event.preventDefault();
  explain(place('name').value.trim(), place('type').value);
});
place('close').addEventListener('click', () => {
  place('explanation').hidden = place('close').hidden = true;
  place('name').focus();
});
place('explain-panel').hidden = !showsNames;

place('pause').addEventListener('click', () => {
  isPaused = !isPaused;
  place('pause').textContent = isPaused ? 'Go on' : 'Pause';
  place('pause').setAttribute('aria-pressed', String(isPaused));
});

place('spans').addEventListener('change', async event => {
  span = Number(event.target.value);
  place('spark-span').textContent = spanWords();
  historyDue = 0;
  try {
    await pollHistoryAndNames();
  } catch {
    return; // The next poll shows it.
  }
  show(null);
});

run();
