// Polls /status.json once a second, keeps five minutes of it, and shows it. Changes nothing in the daemon.

const sources = [
  {key: 'cache', label: 'cache', tone: 'cache'},
  {key: 'provider', label: 'provider', tone: 'provider'},
  {key: 'system', label: 'system', tone: 'system'},
  {key: 'stale', label: 'stale', tone: 'stale'},
];
const origins = [
  ...sources, {key: 'local', label: 'local', tone: 'local'}, {key: 'failure', label: 'failed', tone: 'failure'},
];
const goodVerdicts = ['verified'];
const badVerdicts = ['name-mismatch', 'untrusted'];
const every = 1000; // milliseconds
const patience = 5000;
const sharing = 10; // seconds that shares and percentiles are taken over
const smoothing = 3; // seconds that rates are taken over

const place = id => document.getElementById(id);
const charts = {
  rate: new Chart(place('rate'), {title: 'Responses per second', series: origins, isStacked: true}),
  share: new Chart(place('share'), {
    title: 'Hit share', series: [{key: 'hits', label: 'answered from the cache', tone: 'cache'}], limit: 1,
    text: percent,
  }),
  latency: new Chart(place('latency'), {
    title: 'Latency, 99th percentile', series: sources, isLogarithmic: true, text: time,
  }),
};

let history = []; // {at, stats}, the oldest first; stats is null if the daemon did not answer
let isPaused = false;
let shown = {};

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

function rates(index) {
  const newer = history[index], older = newer.stats && (before(index, smoothing) ?? before(index, 1));
  if (!older) return null;
  const rate = pick => Math.max(0, pick(newer.stats) - pick(older.stats)) / (newer.at - older.at);
  const values = {};
  for (const {key} of origins) values[key] = rate(stats => stats.responses[key]);
  values.local += rate(stats => stats.responses.fallback);
  values.failure += rate(stats => stats.responses.refused + stats.responses.limited);
  values.queries = rate(stats => stats.queries.total);
  values.dropped = rate(stats => Object.values(stats.dropped).reduce((sum, count) => sum + count, 0));
  return values;
}

/// Returns the sample 10 s earlier, else 3 s, else 1 s.
function recent(index) {
  const newer = history[index];
  if (!newer.stats) return null;
  return before(index, sharing) ?? before(index, 3) ?? before(index, 1);
}

function hitShare(index) {
  const older = recent(index), newer = history[index];
  if (!older) return null;
  const hits = newer.stats.cache.hits - older.stats.cache.hits;
  const misses = newer.stats.cache.misses - older.stats.cache.misses;
  return {hits: hits + misses > 0 ? hits / (hits + misses) : NaN};
}

/// Interpolates a percentile in microseconds. The upper bound of bucket n is 2^n; counts are not cumulative.
function percentile(counts, part) {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total <= 0) return NaN;
  let below = 0;
  for (let bucket = 0; bucket < counts.length; bucket++) {
    if (below + counts[bucket] >= part * total && counts[bucket] > 0) {
      const low = bucket === 0 ? 0 : 2 ** (bucket - 1);
      const high = Math.min(2 ** bucket, 2 ** (counts.length - 2));
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

// MARK: showing

function rows(id, key, make) {
  // Unchanged rows are not replaced, so that a text selection and the screen reader position survive.
  const text = JSON.stringify(key);
  if (shown[id] === text) return;
  shown[id] = text;
  place(id).replaceChildren(...make());
}

function cells(...texts) {
  return texts.map(text => text instanceof Node ? text : make('td', {}, String(text)));
}

const number = text => make('td', {class: 'number'}, text);
const words = text => make('td', {class: 'words'}, text);
const whole = text => make('td', {class: 'whole'}, text);
const nothing = (columns, text) => [make('tr', {}, make('td', {class: 'none', colspan: columns}, text))];
const moment = seconds => new Date(seconds * 1000).toLocaleString('sv');

function tile(label, value, more) {
  return make('div', {class: 'tile'}, make('span', {class: 'label'}, label), make('span', {class: 'value'}, value),
    make('span', {class: 'more'}, more));
}

function showTiles(stats, last) {
  const rate = rates(last), share = hitShare(last), slow = latencies(last, 0.99), usual = latencies(last, 0.5);
  const failing = rate ? rate.failure + rate.dropped : NaN;
  rows('tiles', [history[last].at], () => [
    tile('queries per s', short(rate?.queries ?? NaN), grouped(stats.queries.total) + ' in all'),
    tile('hit share', percent(share?.hits ?? NaN), 'last ten seconds'),
    tile('cached, p99', time(slow?.cache ?? NaN), 'p50 ' + time(usual?.cache ?? NaN)),
    tile('fetched, p99', time(slow?.provider ?? NaN), 'p50 ' + time(usual?.provider ?? NaN)),
    tile('waiting', short(stats.inflight), 'without an answer'),
    tile('failing per s', short(failing), grouped(stats.responses.failure) + ' failed in all'),
    tile('cache', short(stats.cache.entries), 'entries, ' + bytes(stats.cache.bytes)),
    tile('quarantined', short(stats.probe.quarantined), counted(stats.probe.divergences, 'divergence', 'divergences')),
  ]);
}

function showPercentiles(last) {
  const columns = [0.5, 0.95, 0.99].map(part => latencies(last, part));
  rows('percentiles', columns, () => sources.map(({key, label}) => make('tr', {},
    make('th', {scope: 'row'}, label), ...columns.map(column => number(time(column?.[key] ?? NaN))))));
}

function showVerdicts(probe) {
  const verdicts = Object.entries(probe.verdicts).filter(([, count]) => count > 0).sort((one, two) => two[1] - one[1]);
  const most = Math.max(1, ...verdicts.map(([, count]) => count));
  rows('verdicts', verdicts, () => verdicts.map(([verdict, count]) => {
    const tone = goodVerdicts.includes(verdict) ? 'good' : badVerdicts.includes(verdict) ? 'bad' : 'fair';
    return make('li', {class: tone}, make('span', {}, verdict),
      make('progress', {max: most, value: count, 'aria-label': verdict}),
      make('span', {class: 'number'}, grouped(count)));
  }));
  const kept = counted(probe.quarantined, 'address is', 'addresses are') + ' kept from clients; ';
  const busy = counted(probe.running, 'probe runs', 'probes run') + ', ' + counted(probe.waiting, 'waits', 'wait');
  place('quarantine').textContent = probe.done ? kept + busy : 'no probe has ended yet';
}

const stateTone = state => state === 'up' ? 'good' : ['down', 'blocked'].includes(state) ? 'bad' : 'fair';

function showProviders(providers) {
  const curve = name => history.map(sample =>
    sample.stats?.providers.find(provider => provider.name === name)?.latency_ms.p50 ?? NaN);
  const pause = provider => provider.retry_s === undefined ? '' : ', ' + grouped(provider.retry_s) + ' s';
  const measured = milliseconds => milliseconds ? time(milliseconds * 1000) : '–';
  const failures = provider => Object.values(provider.failures).reduce((sum, count) => sum + count, 0);
  const kinds = provider => Object.entries(provider.failures).filter(([, count]) => count > 0)
    .map(([kind, count]) => kind + ' ' + grouped(count)).join(', ');
  place('providers').replaceChildren(...(providers.length ? providers.map(provider => make('tr', {},
    make('th', {scope: 'row', title: provider.dialect}, provider.name),
    make('td', {}, make('span', {class: 'state ' + stateTone(provider.state)}, provider.state + pause(provider))),
    make('td', {}, sparkline(curve(provider.name))),
    number(measured(provider.latency_ms.p50)),
    number(measured(provider.latency_ms.p95)),
    number(percent(provider.share ?? NaN)), number(percent(provider.success ?? NaN)),
    number(grouped(provider.requests)),
    make('td', {class: 'number', title: kinds(provider)}, grouped(failures(provider))),
    number(percent(provider.trust)))) : nothing(10, 'none: the system resolver serves')));
}

function showEvidence(evidence) {
  rows('evidence', evidence.map(each => each.number), () => evidence.length
    ? [...evidence].reverse().map(({seconds, name, type, mismatched, verified}) => make('tr', {}, ...cells(
      whole(moment(seconds)), words(name + ' ' + type), mismatched.source, whole(mismatched.address),
      words(mismatched.detail ? mismatched.verdict + ': ' + mismatched.detail : mismatched.verdict),
      words(verified.source + ': ' + verified.address))))
    : nothing(6, 'no source has led astray'));
}

function showNetwork(network, changes) {
  place('network').textContent = network
    ? 'network ' + (network.id || 'none') + (network.words ? ' (' + network.words + ')' : '') : 'network not watched';
  // The duration is removed, because a screen reader reads each changed alert aloud.
  const alert = network?.portal ? 'Captive portal: ' + network.portal.replace(/^suspected for [^:]*: /, '') : '';
  place('alert').hidden = !alert;
  if (place('alert').textContent !== alert) place('alert').textContent = alert;
  rows('changes', changes, () => changes.length
    ? [...changes].reverse().map(({seconds, cause, recovery_ms: recovery, id, words: text}) => make('tr', {}, ...cells(
      whole(moment(seconds)), cause, number(recovery === undefined ? '–' : grouped(recovery) + ' ms'),
      words(id ? id + (text ? ' (' + text + ')' : '') : 'none'))))
    : nothing(4, 'the network has not changed'));
}

function showUptime(stats) {
  const [days, hours] = [Math.floor(stats.uptime_s / 86400), Math.floor(stats.uptime_s / 3600) % 24];
  const minutes = Math.floor(stats.uptime_s / 60) % 60;
  const up = days ? days + ' d ' + hours + ' h' : hours ? hours + ' h ' + minutes + ' min' : minutes + ' min';
  place('version').textContent = stats.version + ', up ' + up;
}

function show(figures) {
  const last = history.length - 1;
  const series = value => history.map((sample, index) => ({at: sample.at, values: sample.stats && value(index)}));
  charts.rate.show(series(rates));
  charts.share.show(series(hitShare));
  charts.latency.show(series(index => latencies(index, 0.99)));
  if (!figures) return;
  showUptime(figures.stats);
  showTiles(figures.stats, last);
  showPercentiles(last);
  showVerdicts(figures.stats.probe);
  showProviders(figures.stats.providers);
  showEvidence(figures.evidence);
  showNetwork(figures.network, figures.changes);
}

// MARK: asking

function tell(state, text) {
  const link = place('link');
  if (link.textContent !== text) link.textContent = text;
  link.className = state;
}

async function ask() {
  const answer = await fetch('/status.json', {cache: 'no-store', signal: AbortSignal.timeout(patience)});
  if (!answer.ok) throw new Error('status ' + answer.status);
  return answer.json();
}

async function turn() {
  let figures = null;
  try {
    figures = await ask();
    tell('live', 'live');
  } catch {
    tell('dead', 'the daemon does not answer');
  }
  const at = performance.now() / 1000;
  history.push({at, stats: figures?.stats ?? null});
  while (history[0].at < at - span) history.shift();
  if (!isPaused) show(figures);
}

async function run() {
  for (;;) {
    const began = performance.now();
    await turn();
    await new Promise(resolve => setTimeout(resolve, Math.max(0, every - (performance.now() - began))));
  }
}

place('pause').addEventListener('click', () => {
  isPaused = !isPaused;
  place('pause').textContent = isPaused ? 'Go on' : 'Pause';
  place('pause').setAttribute('aria-pressed', String(isPaused));
});

run();
