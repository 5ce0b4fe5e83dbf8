'use strict';
// Makes elements, number texts and SVG charts, independently of DNS. Text becomes text nodes, never markup, because
// names are untrusted.

const svgSpace = 'http://www.w3.org/2000/svg';
const spans = {minutes: 300, hour: 3600, day: 86400};
let span = spans.minutes; // seconds that a chart covers

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function shape(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(svgSpace, tag), attributes, children);
}

const isKnown = value => Number.isFinite(value);

const counted = (count, one, many) => grouped(count) + ' ' + (count === 1 ? one : many);

function grouped(number) {
  return Math.round(number).toLocaleString('en');
}

function short(number) {
  if (!isKnown(number)) return '–';
  for (const [unit, size] of [['G', 1e9], ['M', 1e6], ['k', 1e4]]) {
    const factor = unit === 'k' ? 1e3 : size;
    if (Math.abs(number) >= size) return (number / factor).toFixed(number / factor < 100 ? 1 : 0) + ' ' + unit;
  }
  return number !== 0 && Math.abs(number) < 10 ? String(Number(number.toFixed(1))) : grouped(number);
}

function percent(share) {
  if (!isKnown(share)) return '–';
  return Number((share * 100).toFixed(share > 0.99 ? 2 : 1)) + ' %';
}

function bytes(count) {
  if (!isKnown(count)) return '–';
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  const step = count < 1 ? 0 : Math.min(3, Math.floor(Math.log2(count) / 10));
  const value = count / 1024 ** step;
  return Number(value.toFixed(value < 10 ? 1 : 0)) + ' ' + units[step];
}

/// Formats microseconds.
function time(microseconds) {
  if (!isKnown(microseconds)) return '–';
  const [value, unit] = microseconds < 1000 ? [microseconds, 'µs']
    : microseconds < 1e6 ? [microseconds / 1000, 'ms'] : [microseconds / 1e6, 's'];
  return Number(value.toFixed(value < 10 ? 1 : 0)) + ' ' + unit;
}

function ago(seconds) {
  const [days, hours, minutes] = [Math.floor(seconds / 86400), Math.floor(seconds / 3600), Math.floor(seconds / 60)];
  if (minutes < 1) return Math.max(0, Math.round(seconds)) + ' s';
  if (hours < 1) return minutes + ' min';
  return days < 1 ? hours + ' h ' + minutes % 60 + ' min' : days + ' d ' + hours % 24 + ' h';
}

const spanWords = () => span < spans.hour ? '5 min' : span < spans.day ? '1 h' : '24 h';

const clock = seconds => new Date(seconds * 1000).toLocaleTimeString('sv', {hour: '2-digit', minute: '2-digit'});

/// Lists the marks of the time axis, by seconds before now.
function timeMarks(isNarrow) {
  if (span === spans.minutes) {
    return (isNarrow ? [300, 180, 60, 0] : [300, 240, 180, 120, 60, 0])
      .map(before => ({before, label: before ? '−' + before / 60 + ' min' : 'now'}));
  }
  const step = (span === spans.hour ? 600 : 3 * 3600) * (isNarrow ? 2 : 1);
  const now = Date.now() / 1000, shift = new Date().getTimezoneOffset() * 60;
  const marks = [];
  for (let at = Math.ceil((now - span - shift) / step) * step + shift; at <= now; at += step) {
    marks.push({before: now - at, label: clock(at)});
  }
  return marks;
}

/// Rounds up to a number with few digits, and to a number of parts that have few digits too.
function nice(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  const [digit, parts] = [[1, 2], [2, 4], [3, 3], [4, 4], [6, 3], [8, 4], [10, 5]]
    .find(([digit]) => digit * power >= value * 0.999);
  return [digit * power, parts];
}

/// Maps a value to 0...1, and lists the values of the grid lines.
function linearScale(highest, limit, isBinary) {
  const unit = isBinary ? 1024 ** Math.floor(Math.log2(Math.max(highest, 1)) / 10) : 1;
  const [most, parts] = limit ? [limit, 4] : nice(Math.max(highest / unit, 0.25) * 1.02);
  const ticks = Array.from({length: parts + 1}, (_, part) => part / parts * most * unit);
  return {place: value => value / unit / most, ticks};
}

function logScale(lowest, highest) {
  const low = Math.floor(Math.log10(lowest)), high = Math.max(low + 1, Math.ceil(Math.log10(highest)));
  const ticks = [];
  for (let power = low; power <= high; power++) ticks.push(10 ** power);
  return {place: value => (Math.max(low, Math.log10(value)) - low) / (high - low), ticks};
}

/// Splits the points into runs without gaps.
function runs(points) {
  const found = [];
  let open = false;
  for (const point of points) {
    if (point === null) { open = false; continue; }
    if (!open) found.push([]);
    open = true;
    found[found.length - 1].push(point);
  }
  return found;
}

const path = points => 'M' + points.map(([x, y]) => x.toFixed(1) + ' ' + y.toFixed(1)).join('L');

class Chart {
  /// series: {key, label, tone}, from bottom to top if stacked. Samples have `at` in seconds, and `values` by key or
  /// null.
  constructor(host, options) {
    const usual = {isStacked: false, isFilled: false, isLogarithmic: false, isBinary: false, limit: null, text: short};
    Object.assign(this, usual, options);
    this.now = 0;
    this.samples = [];
    this.cursor = null; // seconds before now
    this.svg = shape('svg', {class: 'chart', role: 'img', tabindex: '0', 'aria-label': options.title});
    this.legend = make('ul', {class: 'legend'});
    host.append(this.svg, this.legend);
    this.svg.addEventListener('pointermove', event => this.point(event));
    this.svg.addEventListener('pointerleave', () => this.move(null));
    this.svg.addEventListener('keydown', event => this.press(event));
    this.svg.addEventListener('blur', () => this.move(null));
    new ResizeObserver(() => this.draw()).observe(this.svg);
  }

  show(samples, now) {
    this.samples = samples;
    this.now = now;
    this.draw();
  }

  point(event) {
    const box = this.svg.getBoundingClientRect();
    const part = (event.clientX - box.left - this.left) / (box.width - this.left - this.right);
    this.move(Math.min(1, Math.max(0, 1 - part)) * span);
  }

  press(event) {
    const steps = {ArrowLeft: span / 60, ArrowRight: -span / 60, Home: span, End: -span};
    if (!(event.key in steps)) return;
    event.preventDefault();
    this.move(Math.min(span, Math.max(0, (this.cursor ?? 0) + steps[event.key])));
  }

  move(cursor) {
    this.cursor = cursor;
    this.draw();
  }

  get left() { return 52; }
  get right() { return 8; }

  draw() {
    const width = this.svg.clientWidth, height = this.svg.clientHeight;
    if (!width || !height) return;
    const now = this.now;
    const area = {left: this.left, right: width - this.right, top: 8, bottom: height - 20};
    const scale = this.scale();
    const x = at => area.right - (now - at) / span * (area.right - area.left);
    const y = value => area.bottom - scale.place(value) * (area.bottom - area.top);
    const marks = [...this.grid(scale, area, y), ...this.curves(x, y)];
    if (this.cursor !== null) {
      const at = x(now - this.cursor);
      marks.push(shape('line', {class: 'cursor', x1: at, x2: at, y1: area.top, y2: area.bottom}));
    }
    if (!this.known().length) {
      const middle = {class: 'empty', x: (area.left + area.right) / 2, y: (area.top + area.bottom) / 2};
      marks.push(shape('text', {...middle, 'text-anchor': 'middle'}, 'nothing yet'));
    }
    this.svg.replaceChildren(...marks);
    this.explain(now);
  }

  known() {
    const rows = this.samples.filter(sample => sample.values);
    if (this.isStacked) return rows.map(row => this.series.reduce((sum, {key}) => sum + (row.values[key] || 0), 0));
    return rows.flatMap(row => this.series.map(({key}) => row.values[key])).filter(isKnown);
  }

  scale() {
    const values = this.known();
    if (!this.isLogarithmic) return linearScale(Math.max(0, ...values), this.limit, this.isBinary);
    const positive = values.filter(value => value > 0);
    return positive.length ? logScale(Math.min(...positive), Math.max(...positive)) : logScale(100, 10000);
  }

  grid(scale, area, y) {
    const marks = scale.ticks.flatMap(tick => [
      shape('line', {class: 'grid', x1: area.left, x2: area.right, y1: y(tick), y2: y(tick)}),
      shape('text', {x: area.left - 6, y: y(tick) + 4, 'text-anchor': 'end'}, this.text(tick)),
    ]);
    const width = area.right - area.left;
    for (const {before, label} of timeMarks(width < 380)) {
      const at = area.right - before / span * width;
      const anchor = at < area.left + 18 ? 'start' : at > area.right - 18 ? 'end' : 'middle';
      marks.push(shape('text', {x: at, y: area.bottom + 15, 'text-anchor': anchor}, label));
    }
    marks.push(shape('line', {class: 'base', x1: area.left, x2: area.right, y1: area.bottom, y2: area.bottom}));
    return marks;
  }

  curves(x, y) {
    const below = this.samples.map(() => 0);
    return this.series.flatMap(({key, tone}) => {
      const points = this.samples.map((sample, index) => {
        const value = sample.values?.[key];
        if (!isKnown(value)) return null;
        const from = below[index], to = this.isStacked ? from + value : value;
        if (this.isStacked) below[index] = to;
        return [x(sample.at), y(to), y(from)];
      });
      return runs(points).flatMap(run => {
        const line = run.length > 1 ? run : [run[0], run[0]];
        const curve = shape('path', {class: 'curve tone-' + tone, d: path(line)});
        if (!this.isStacked && !this.isFilled) return [curve];
        const back = [...line].reverse().map(([at, , low]) => [at, this.isStacked ? low : y(0)]);
        const d = path(line) + path(back).replace('M', 'L') + 'Z';
        const area = shape('path', {class: (this.isStacked ? 'area' : 'area pale') + ' tone-' + tone, d});
        return this.isStacked ? [area] : [area, curve];
      });
    });
  }

  /// Shows the values at the cursor, or else the last ones, and sets the label for screen readers.
  explain(now) {
    const at = now - (this.cursor ?? 0);
    // Three steps of the daemon's memory: the newest sample is the middle of a step, and is fetched once a step.
    const reach = span === spans.minutes ? 8 : span === spans.hour ? 30 : 180;
    const near = this.samples.filter(sample => sample.values && Math.abs(sample.at - at) < reach);
    const sample = near.sort((one, other) => Math.abs(one.at - at) - Math.abs(other.at - at))[0];
    const values = this.series.map(({key}) => this.text(sample?.values?.[key] ?? NaN));
    const when = this.cursor === null ? 'now' : span === spans.minutes ? Math.round(this.cursor) + ' s ago'
      : 'at ' + clock(Date.now() / 1000 - this.cursor);
    this.legend.replaceChildren(
      ...this.series.map(({label, tone}, index) =>
        make('li', {class: 'tone-' + tone}, make('i'), label, make('b', {}, values[index]))),
      make('li', {class: 'when'}, when));
    const words = this.series.map(({label}, index) => label + ' ' + values[index]).join(', ');
    this.svg.setAttribute('aria-label', this.title + ', ' + when + ': ' + words);
  }
}

/// A small curve without axes; the same numbers are shown beside it.
function sparkline(values) {
  const width = 144, height = 26;
  const last = values.length ? values[values.length - 1].at : 0;
  const top = Math.max(1, ...values.map(({value}) => value).filter(isKnown));
  const points = values.map(({at, value}) =>
    isKnown(value) ? [width - (last - at) / span * width, height - 2 - value / top * (height - 5)] : null);
  const curves = runs(points).filter(run => run.length > 1).map(run => shape('path', {class: 'curve', d: path(run)}));
  return shape('svg', {class: 'spark', viewBox: '0 0 ' + width + ' ' + height, 'aria-hidden': 'true'}, ...curves);
}
