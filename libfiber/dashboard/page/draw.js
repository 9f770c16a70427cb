// Charts and the task stream, on canvases.

function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim(); }

// Returns a context whose unit is a CSS pixel.
function canvasOf(canvas, width, height) {
  const scale = Math.min(window.devicePixelRatio || 1, 2);
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const context = canvas.getContext('2d');
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = '11px system-ui, sans-serif';
  return context;
}

function ticks(low, high, most) {
  const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((each) => each >= rough) || power * 10;
  const all = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-9 && all.length < 20; at += step) all.push(at);
  return all;
}

// Draws lines of points [seconds, value]; a value that is null interrupts its line.
function drawChart(canvas, lines) {
  const width = canvas.clientWidth, height = canvas.clientHeight;
  if (!width) return;
  const context = canvasOf(canvas, width, height);
  const points = lines.flatMap((line) => line.points).filter((point) => point[1] !== null);
  if (!points.length) return;
  const least = (i) => points.reduce((a, p) => Math.min(a, p[i]), Infinity);
  const most = (i) => points.reduce((a, p) => Math.max(a, p[i]), -Infinity);
  let [t0, t1, low, high] = [least(0), most(0), least(1), most(1)];
  if (t1 - t0 < 1e-9) t1 = t0 + 1;
  if (high - low < 1e-12 * Math.max(1, Math.abs(high))) { const pad = Math.abs(high) * 0.1 || 1; low -= pad; high += pad; }
  const left = 52, right = width - 6, top = 8, bottom = height - 18;
  const x = (t) => left + (t - t0) / (t1 - t0) * (right - left);
  const y = (v) => bottom - (v - low) / (high - low) * (bottom - top);
  context.strokeStyle = colour('grid');
  context.fillStyle = colour('dim');
  context.lineWidth = 1;
  context.textAlign = 'right';
  for (const v of ticks(low, high, height > 100 ? 4 : 2)) {
    context.beginPath(); context.moveTo(left, y(v)); context.lineTo(right, y(v)); context.stroke();
    context.fillText(number(v), left - 5, y(v) + 4);
  }
  context.textAlign = 'center';
  for (const t of ticks(t0, t1, Math.max(2, width / 110))) context.fillText(span(t), Math.min(x(t), right - 14), height - 4);
  for (const line of lines) {
    context.strokeStyle = colour(line.colour);
    context.lineWidth = 1.5;
    context.setLineDash(line.dashed ? [4, 3] : []);
    context.beginPath();
    let drawing = false;
    for (const [t, v] of line.points) {
      if (v === null) { drawing = false; continue; }
      if (drawing && line.steps) context.lineTo(x(t), context.lastY);
      if (drawing) context.lineTo(x(t), y(v)); else context.moveTo(x(t), y(v));
      context.lastY = y(v);
      drawing = true;
    }
    if (line.points.length === 1) context.arc(x(line.points[0][0]), y(line.points[0][1]), 2, 0, 7);
    context.stroke();
  }
  context.setLineDash([]);
}

// The task stream. A row of the session: [pool, worker, call, first, tasks, failed, attempt, outcome, from, to].
class TaskStream {
  constructor(canvas, box, windowText, show) {
    Object.assign(this, { canvas, box, windowText, show, rows: [], dropped: 0, workers: [], seconds: 60, end: null, now: 0, chosen: null });
    canvas.addEventListener('pointermove', (event) => this.point(event));
    canvas.addEventListener('pointerdown', (event) => { this.drag = { x: event.clientX, end: this.edge() }; });
    window.addEventListener('pointerup', () => { this.drag = null; });
    canvas.addEventListener('click', (event) => this.choose(this.rowAt(event)));
    canvas.addEventListener('wheel', (event) => {
      if (!event.ctrlKey) return; // Else it scrolls.
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8);
    }, { passive: false });
    canvas.addEventListener('keydown', (event) => {
      const what = { '+': 'in', '=': 'in', '-': 'out', ArrowLeft: 'back', ArrowRight: 'on', f: 'follow', n: 'next', p: 'previous' }[event.key];
      if (!what) return;
      event.preventDefault();
      this.act(what);
    });
    new ResizeObserver(() => this.draw()).observe(box);
  }

  static get most() { return 20000; }
  edge() { return this.end === null ? this.now : this.end; }

  act(what) {
    if (what === 'in') this.zoom(0.5);
    else if (what === 'out') this.zoom(2);
    else if (what === 'back') this.end = this.edge() - this.seconds / 4;
    else if (what === 'on') this.end = Math.min(this.now, this.edge() + this.seconds / 4);
    else if (what === 'next' || what === 'previous') this.step(what === 'next' ? 1 : -1);
    else this.end = this.end === null ? this.now : null;
    this.draw();
  }

  // Chooses a bar, which stays shown until another one is; null: none.
  choose(row) {
    this.chosen = row || null;
    if (row) this.show(row);
    this.draw();
  }

  // Goes to the next bar that did not end well, or back.
  step(by) {
    const bad = this.rows.filter((row) => row[7] !== 'value'), at = bad.indexOf(this.chosen);
    if (!bad.length) return;
    const row = bad[at < 0 ? (by > 0 ? 0 : bad.length - 1) : (at + by + bad.length) % bad.length];
    const edge = this.edge();
    if (row[9] > edge || row[8] < edge - this.seconds) this.end = Math.min(this.now, row[9] + this.seconds / 4);
    this.choose(row);
  }

  zoom(factor) {
    this.seconds = Math.min(86400, Math.max(0.01, this.seconds * factor));
    this.draw();
  }

  add(rows, whole, now) {
    if (whole) this.rows = [];
    this.rows.push(...rows);
    const more = this.rows.length - TaskStream.most;
    if (more > 0) { this.dropped += this.rows.splice(0, more).reduce((n, row) => n + row[4], 0); }
    this.now = now;
    const names = new Set(this.rows.map((row) => row[0] + '.w' + row[1]));
    this.workers = [...names].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
    this.place = new Map(this.workers.map((name, i) => [name, i]));
    this.draw();
  }

  draw() {
    const width = this.box.clientWidth, left = width < 500 ? 64 : 100;
    if (!width) return;
    const high = this.workers.length > 60 ? 4 : this.workers.length > 24 ? 10 : 18;
    const height = Math.max(40, this.workers.length * high + 20);
    this.canvas.style.height = height + 'px';
    const context = canvasOf(this.canvas, width, height);
    const t1 = this.edge(), t0 = t1 - this.seconds, scale = (width - left) / this.seconds;
    Object.assign(this, { left, high, t0, scale });
    const palette = [0, 1, 2, 3, 4, 5].map((i) => colour('c' + i)), bad = { failed: colour('failed'), lost: colour('lost') };
    context.strokeStyle = colour('grid');
    context.fillStyle = colour('dim');
    context.textAlign = 'center';
    for (const t of ticks(t0, t1, Math.max(2, (width - left) / 110))) {
      const x = left + (t - t0) * scale;
      context.beginPath(); context.moveTo(x, 0); context.lineTo(x, height - 16); context.stroke();
      if (t >= 0) context.fillText(span(t), Math.min(x, width - 16), height - 4);
    }
    let shown = 0;
    const drawRow = (row) => {
      if (row[9] < t0 || row[8] > t1) return;
      const from = Math.max(left, left + (row[8] - t0) * scale), to = Math.min(width, left + (row[9] - t0) * scale);
      const y = this.place.get(row[0] + '.w' + row[1]) * high, wrong = bad[row[7]];
      context.fillStyle = wrong || palette[row[2] % 6];
      context.fillRect(from, wrong ? y : y + 1, Math.max(wrong ? 2 : 0.5, to - from - (to - from > 3 ? 0.5 : 0)), wrong ? high : high - 2);
      shown += row[4];
    };
    for (const row of this.rows) if (row[7] === 'value') drawRow(row);
    for (const row of this.rows) if (row[7] !== 'value') drawRow(row); // Above the others.
    if (this.chosen && this.place.has(this.chosen[0] + '.w' + this.chosen[1])) {
      const from = left + (this.chosen[8] - t0) * scale, y = this.place.get(this.chosen[0] + '.w' + this.chosen[1]) * high;
      context.strokeStyle = colour('text');
      context.lineWidth = 2;
      context.strokeRect(from - 1, y, Math.max(4, (this.chosen[9] - this.chosen[8]) * scale + 2), high);
      context.lineWidth = 1;
    }
    context.clearRect(0, 0, left - 2, height - 16);
    context.fillStyle = colour('dim');
    context.textAlign = 'right';
    const every = high < 10 ? Math.ceil(14 / high) : 1;
    this.workers.forEach((name, i) => { if (i % every === 0) context.fillText(plain(name).slice(-16), left - 6, i * high + Math.min(high, 14) - 2); });
    setText(this.windowText, span(this.seconds) + ' in view, ' + count(shown) + ' tasks' + (this.end === null ? '' : ', held'));
    document.querySelector('[data-do=follow]').setAttribute('aria-pressed', String(this.end === null));
  }

  point(event) {
    if (this.drag && event.buttons) {
      this.end = Math.min(this.now, this.drag.end - (event.clientX - this.drag.x) / this.scale);
      this.draw();
      return;
    }
    const row = this.chosen ? null : this.rowAt(event);
    if (row) this.show(row);
  }

  // The bar below the pointer: the one that did not end well, if there are several.
  rowAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const t = this.t0 + (event.clientX - box.left - this.left) / this.scale, slack = 2 / this.scale;
    const worker = this.workers[Math.floor((event.clientY - box.top) / this.high)];
    const at = this.rows.filter((row) => row[0] + '.w' + row[1] === worker && row[8] - slack <= t && row[9] + slack >= t);
    return at.find((each) => each[7] !== 'value') || at[0];
  }
}

function describeTask([pool, worker, call, first, tasks, failed, attempt, outcome, from, to]) {
  const which = tasks > 1 ? 'tasks ' + first + ' to ' + (first + tasks - 1) : 'task ' + first;
  const how = outcome === 'value' ? 'done' : outcome === 'lost' ? 'worker lost' : tasks > 1 ? failed + ' failed' : 'failed';
  return pool + '.w' + worker + ', call ' + call + ', ' + which + ', attempt ' + attempt + ': ' + how + ' after ' + span(to - from) +
    ', at ' + span(to);
}
