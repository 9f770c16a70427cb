// Charts on canvases.

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

function multiples(step, low, high) {
  const all = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-9 && all.length < 20; at += step) all.push(at);
  return all;
}

function ticks(low, high, most) {
  const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
  return multiples([1, 2, 5, 10].map((m) => m * power).find((each) => each >= rough) || power * 10, low, high);
}

// Times in whole seconds, minutes or hours, if there is room for no more.
function timeTicks(low, high, most) {
  const rough = (high - low) / most;
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];
  return rough < 1 ? ticks(low, high, most) : multiples(steps.find((each) => each >= rough) || 86400, low, high);
}

// Draws lines of points [seconds, value]; a value that is null interrupts its line. Options: zero, the axis begins at 0.
function drawChart(canvas, lines, options = {}) {
  canvas.chart = { lines, options };
  const width = canvas.clientWidth, height = canvas.clientHeight;
  if (!width) return;
  const context = canvasOf(canvas, width, height);
  const points = lines.flatMap((line) => line.points).filter((point) => point[1] !== null);
  if (!points.length) return;
  const least = (i) => points.reduce((a, p) => Math.min(a, p[i]), Infinity);
  const most = (i) => points.reduce((a, p) => Math.max(a, p[i]), -Infinity);
  let [t0, t1, low, high] = [least(0), most(0), least(1), most(1)];
  if (options.zero) low = Math.min(0, low);
  if (t1 - t0 < 1e-9) t1 = t0 + 1;
  if (high - low < 1e-12 * Math.max(1, Math.abs(high))) { const pad = Math.abs(high) * 0.1 || 1; low -= pad; high += pad; }
  const left = 52, right = width - 6, top = 8, bottom = height - 18;
  const x = (t) => left + (t - t0) / (t1 - t0) * (right - left);
  const y = (v) => bottom - (v - low) / (high - low) * (bottom - top);
  context.strokeStyle = colour('grid');
  context.fillStyle = colour('dim');
  context.lineWidth = 1;
  context.textAlign = 'right';
  for (const v of ticks(low, high, height > 100 ? 4 : 3)) {
    context.beginPath(); context.moveTo(left, y(v)); context.lineTo(right, y(v)); context.stroke();
    context.fillText(number(v), left - 5, y(v) + 4);
  }
  context.textAlign = 'center';
  for (const t of timeTicks(t0, t1, Math.max(3, width / 110))) context.fillText(span(t), Math.min(x(t), width - context.measureText(span(t)).width / 2), height - 4);
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
  if (canvas.pointed !== undefined) drawReading(context, lines, { x, y, left, right, top, bottom, t: t0 + (canvas.pointed - left) / (right - left) * (t1 - t0) });
}

// Shows the values at the time that is pointed at.
function drawReading(context, lines, { x, y, left, right, top, bottom, t }) {
  const read = lines.map((line) => line.points.reduce((a, b) => Math.abs(b[0] - t) < Math.abs(a[0] - t) ? b : a, [Infinity, null]));
  const at = read.find((point) => point[1] !== null);
  if (!at) return;
  context.strokeStyle = colour('dim');
  context.beginPath(); context.moveTo(x(at[0]), top); context.lineTo(x(at[0]), bottom); context.stroke();
  context.fillStyle = colour('text');
  for (const point of read) if (point[1] !== null) { context.beginPath(); context.arc(x(point[0]), y(point[1]), 3, 0, 7); context.fill(); }
  const text = span(at[0]) + ': ' + read.map((point) => number(point[1])).join(', '), width = context.measureText(text).width + 8;
  const from = Math.min(Math.max(left, x(at[0]) - width / 2), right - width);
  context.fillStyle = colour('back');
  context.fillRect(from, top, width, 15);
  context.fillStyle = colour('text');
  context.textAlign = 'left';
  context.fillText(text, from + 4, top + 11);
}

// Makes a canvas for drawChart that shows the values below the pointer.
function chartCanvas(title) {
  const canvas = element('canvas', { role: 'img', 'aria-label': title });
  const read = (at) => { canvas.pointed = at; if (canvas.chart) drawChart(canvas, canvas.chart.lines, canvas.chart.options); };
  canvas.addEventListener('pointermove', (event) => read(event.clientX - canvas.getBoundingClientRect().left));
  canvas.addEventListener('pointerleave', () => read(undefined));
  return canvas;
}
