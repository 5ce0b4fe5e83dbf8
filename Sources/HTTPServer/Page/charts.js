'use strict';
// Makes elements, number texts and SVG charts, independently of DNS. Text becomes text nodes, never markup, because
// names are untrusted.

const svgSpace = 'http://www.w3.org/2000/svg';
const span = 300; // seconds that a chart covers

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
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  const step = count < 1 ? 0 : Math.min(3, Math.floor(Math.log2(count) / 10));
  return (count / 1024 ** step).toFixed(step === 0 ? 0 : 1) + ' ' + units[step];
}

/// Formats microseconds.
function time(microseconds) {
  if (!isKnown(microseconds)) return '–';
  const [value, unit] = microseconds < 1000 ? [microseconds, 'µs']
    : microseconds < 1e6 ? [microseconds / 1000, 'ms'] : [microseconds / 1e6, 's'];
  return Number(value.toFixed(value < 10 ? 1 : 0)) + ' ' + unit;
}

/// Rounds up to a number with few digits, whose quarters have few digits too.
function nice(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 3, 4, 6, 8, 10].map(step => step * power).find(step => step >= value * 0.999);
}

/// Maps a value to 0...1, and lists the values of the grid lines.
function linearScale(highest, limit) {
  const top = limit ?? nice(Math.max(highest, 1) * 1.02);
  return {place: value => value / top, ticks: [0, 0.25, 0.5, 0.75, 1].map(part => part * top)};
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
    Object.assign(this, {isStacked: false, isLogarithmic: false, limit: null, text: short}, options);
    this.samples = [];
    this.cursor = null; // seconds before now
    this.svg = shape('svg', {class: 'chart', role: 'img', tabindex: '0'});
    this.legend = make('ul', {class: 'legend'});
    host.append(this.svg, this.legend);
    this.svg.addEventListener('pointermove', event => this.point(event));
    this.svg.addEventListener('pointerleave', () => this.move(null));
    this.svg.addEventListener('keydown', event => this.press(event));
    this.svg.addEventListener('blur', () => this.move(null));
    new ResizeObserver(() => this.draw()).observe(this.svg);
  }

  show(samples) {
    this.samples = samples;
    this.draw();
  }

  point(event) {
    const box = this.svg.getBoundingClientRect();
    const part = (event.clientX - box.left - this.left) / (box.width - this.left - this.right);
    this.move(Math.min(1, Math.max(0, 1 - part)) * span);
  }

  press(event) {
    const steps = {ArrowLeft: 5, ArrowRight: -5, Home: span, End: -span};
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
    const now = this.samples.length ? this.samples[this.samples.length - 1].at : 0;
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
    if (!this.isLogarithmic) return linearScale(Math.max(0, ...values), this.limit);
    const positive = values.filter(value => value > 0);
    return positive.length ? logScale(Math.min(...positive), Math.max(...positive)) : logScale(100, 10000);
  }

  grid(scale, area, y) {
    const marks = scale.ticks.flatMap(tick => [
      shape('line', {class: 'grid', x1: area.left, x2: area.right, y1: y(tick), y2: y(tick)}),
      shape('text', {x: area.left - 6, y: y(tick) + 4, 'text-anchor': 'end'}, this.text(tick)),
    ]);
    const isNarrow = area.right - area.left < 380;
    for (let minutes = 5; minutes >= 0; minutes--) {
      if (isNarrow && minutes % 2) continue;
      const at = area.right - minutes * 60 / span * (area.right - area.left);
      const anchor = minutes === 5 ? 'start' : minutes === 0 ? 'end' : 'middle';
      const label = minutes === 0 ? 'now' : '−' + minutes + ' min';
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
      const kind = this.isStacked ? 'area' : 'curve';
      return runs(points).map(run => {
        const line = run.length > 1 ? run : [[run[0][0] - 1, run[0][1], run[0][2]], run[0]];
        const back = [...line].reverse().map(([at, , low]) => [at, low]);
        const d = path(line) + (this.isStacked ? path(back).replace('M', 'L') + 'Z' : '');
        return shape('path', {class: kind + ' tone-' + tone, d});
      });
    });
  }

  /// Shows the values at the cursor, or else the last ones, and sets the label for screen readers.
  explain(now) {
    const at = now - (this.cursor ?? 0);
    const near = this.samples.filter(sample => Math.abs(sample.at - at) < 3);
    const sample = near.sort((one, other) => Math.abs(one.at - at) - Math.abs(other.at - at))[0];
    const values = this.series.map(({key}) => this.text(sample?.values?.[key] ?? NaN));
    const when = this.cursor === null ? 'now' : Math.round(this.cursor) + ' s ago';
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
  const top = Math.max(1, ...values.filter(isKnown));
  const points = values.map((value, index) => isKnown(value)
    ? [width - (values.length - 1 - index) / span * width, height - 2 - value / top * (height - 9)] : null);
  const curves = runs(points).filter(run => run.length > 1).map(run => shape('path', {class: 'curve', d: path(run)}));
  return shape('svg', {class: 'spark', viewBox: '0 0 ' + width + ' ' + height, 'aria-hidden': 'true'}, ...curves);
}
