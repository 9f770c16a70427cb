// The task stream: a lane for each worker, and above them a line with the events of jobs. The canvas has the size of what
// is in view, however many lanes there are. A row of the session:
// [pool, worker, call, first, tasks, failed, attempt, outcome, from, to].
class TaskStream {
  constructor(canvas, box, windowText, show, showEvent) {
    Object.assign(this, { canvas, box, windowText, show, showEvent, rows: [], events: [], dropped: 0, lanes: [], seconds: 60, end: null, now: 0, chosen: null });
    canvas.addEventListener('pointermove', (event) => this.point(event));
    canvas.addEventListener('pointerdown', (event) => { this.drag = { x: event.clientX, end: this.edge(), moved: false }; });
    window.addEventListener('pointerup', () => { setTimeout(() => { this.drag = null; }); }); // After the click.
    canvas.addEventListener('click', (event) => { if (!this.drag || !this.drag.moved) this.choose(this.rowAt(event)); });
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
    box.addEventListener('scroll', () => this.drawSoon(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(box);
  }

  static get most() { return 20000; }
  // While a session is young, all of it is in view.
  shownSeconds() { return this.end === null ? Math.min(this.seconds, Math.max(1, this.now)) : this.seconds; }
  edge() { return this.end === null ? this.now : this.end; }

  act(what) {
    this.seconds = this.shownSeconds();
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
    if (row[9] > edge || row[8] < edge - this.shownSeconds()) this.end = Math.min(this.now, row[9] + this.seconds / 4);
    const lane = this.lanes.findIndex((each) => each.name === laneOf(row)), room = this.visible - this.head - this.foot;
    if (lane * this.high < this.box.scrollTop || (lane + 1) * this.high > this.box.scrollTop + room) this.box.scrollTop = lane * this.high - room / 2;
    this.choose(row);
  }

  zoom(factor) {
    this.seconds = Math.min(86400, Math.max(0.01, this.shownSeconds() * factor));
    this.draw();
  }

  add(rows, whole, now) {
    if (whole) this.rows = [];
    this.rows.push(...rows);
    const more = this.rows.length - TaskStream.most;
    if (more > 0) this.dropped += this.rows.splice(0, more).reduce((n, row) => n + row[4], 0);
    this.now = now;
    const lanes = new Map(this.lanes.map((lane) => [lane.name, lane]));
    if (whole || more > 0) lanes.clear();
    for (const row of whole || more > 0 ? this.rows : rows) {
      const name = laneOf(row);
      if (!lanes.has(name)) lanes.set(name, { name, rows: [] });
      lanes.get(name).rows.push(row);
    }
    if (lanes.size !== this.lanes.length || whole || more > 0) this.lanes = [...lanes.values()].sort((a, b) => byName(a.name, b.name));
    this.draw();
  }

  drawSoon() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => { this.frame = null; this.draw(); });
  }

  draw() {
    const space = this.canvas.parentNode, n = this.lanes.length, head = 16, foot = 20;
    const high = n > 60 ? 4 : n > 24 ? 10 : 18, full = Math.max(60, n * high + head + foot);
    if (space.style.height !== full + 'px') space.style.height = full + 'px';
    const width = space.clientWidth, left = width < 500 ? 76 : 100, visible = Math.min(full, this.box.clientHeight);
    if (!width || !visible) return;
    this.canvas.style.height = visible + 'px';
    const context = canvasOf(this.canvas, width, visible);
    const seconds = this.shownSeconds(), t1 = this.edge(), t0 = t1 - seconds, scale = (width - left) / seconds, top = this.box.scrollTop;
    Object.assign(this, { left, high, head, foot, visible, t0, scale, top });
    this.drawTimes(context, width, t1);
    context.save();
    context.beginPath();
    context.rect(0, head, width, visible - head - foot);
    context.clip();
    this.drawLanes(context, width, t1);
    context.restore();
    this.drawEvents(context, width);
    const shown = this.rows.reduce((sum, row) => row[9] < t0 || row[8] > t1 ? sum : sum + row[4], 0);
    setText(this.windowText, span(seconds) + ' in view, ' + count(shown) + ' tasks' + (this.end === null ? '' : ', held'));
    document.querySelector('[data-do=follow]').setAttribute('aria-pressed', String(this.end === null));
  }

  drawTimes(context, width, t1) {
    context.strokeStyle = colour('grid');
    context.fillStyle = colour('dim');
    for (const t of timeTicks(this.t0, t1, Math.max(3, (width - this.left) / 110))) {
      const x = this.left + (t - this.t0) * this.scale, text = span(t), half = context.measureText(text).width / 2;
      context.beginPath(); context.moveTo(x, this.head); context.lineTo(x, this.visible - 16); context.stroke();
      context.textAlign = 'center';
      if (t > -1e-9) context.fillText(text, Math.min(x, width - half), this.visible - 4);
    }
  }

  drawLanes(context, width, t1) {
    const { left, high, head, t0, scale } = this, thin = high > 4 ? 2 : 1;
    const palette = [0, 1, 2, 3, 4, 5].map((i) => colour('c' + i)), bad = { failed: colour('failed'), lost: colour('lost') };
    const first = Math.max(0, Math.floor(this.top / high)), last = Math.min(this.lanes.length, Math.ceil((this.top + this.visible) / high));
    const drawRow = (row, y) => {
      if (row[9] < t0 || row[8] > t1) return;
      const from = Math.max(left, left + (row[8] - t0) * scale), to = Math.min(width, left + (row[9] - t0) * scale), wrong = bad[row[7]];
      context.fillStyle = wrong || palette[row[2] % 6];
      context.fillRect(from, wrong ? y : y + thin / 2, Math.max(wrong ? 2 : 0.5, to - from - (to - from > 3 ? 0.5 : 0)), wrong ? high : high - thin);
    };
    const every = high < 10 ? Math.ceil(14 / high) : 1;
    for (let i = first; i < last; ++i) {
      const { name, rows } = this.lanes[i], y = head + i * high - this.top;
      for (const row of rows) if (row[7] === 'value') drawRow(row, y);
      for (const row of rows) if (row[7] !== 'value') drawRow(row, y); // Above the others.
      if (this.chosen && laneOf(this.chosen) === name) {
        context.strokeStyle = colour('text');
        context.lineWidth = 2;
        context.strokeRect(left + (this.chosen[8] - t0) * scale - 1, y, Math.max(4, (this.chosen[9] - this.chosen[8]) * scale + 2), high);
        context.lineWidth = 1;
      }
      context.clearRect(0, y, left - 2, high);
    }
    context.fillStyle = colour('dim');
    context.textAlign = 'right';
    for (let i = Math.floor(first / every) * every; i < last; i += every)
      context.fillText(plain(this.lanes[i].name).slice(-16), left - 6, head + i * high - this.top + Math.min(high, 14) - 2 + (high < 10 ? 7 : 0));
  }

  // The events of jobs in a line; losses stand out.
  drawEvents(context, width) {
    context.fillStyle = colour('dim');
    context.textAlign = 'right';
    context.fillText('events', this.left - 6, 11);
    const colours = { up: colour('ok'), draining: colour('dim'), ended: colour('dim'), lost: colour('failed') };
    const lost = (event) => event.what === 'lost';
    for (const event of [...this.events.filter((each) => !lost(each)), ...this.events.filter(lost)]) {
      const x = this.left + (event.time - this.t0) * this.scale;
      if (x < this.left || x > width) continue;
      context.fillStyle = colours[event.what];
      context.fillRect(x - 1, lost(event) ? 1 : 5, lost(event) ? 3 : 2, lost(event) ? 13 : 9);
    }
  }

  point(event) {
    if (this.drag && event.buttons) {
      this.seconds = this.shownSeconds();
      this.drag.moved = this.drag.moved || Math.abs(event.clientX - this.drag.x) > 3;
      this.end = Math.min(this.now, this.drag.end - (event.clientX - this.drag.x) / this.scale);
      this.drawSoon();
      return;
    }
    if (this.chosen) return;
    const near = this.eventAt(event), row = near ? null : this.rowAt(event);
    if (near) this.showEvent(near);
    else if (row) this.show(row);
  }

  timeAt(event) { return this.t0 + (event.clientX - this.canvas.getBoundingClientRect().left - this.left) / this.scale; }

  // The event of a job below the pointer: a loss, if there are several.
  eventAt(event) {
    if (event.clientY - this.canvas.getBoundingClientRect().top >= this.head) return null;
    const t = this.timeAt(event), near = this.events.filter((each) => Math.abs(each.time - t) * this.scale < 4);
    return near.find((each) => each.what === 'lost') || near[near.length - 1];
  }

  // The bar below the pointer: the one that did not end well, if there are several.
  rowAt(event) {
    const y = event.clientY - this.canvas.getBoundingClientRect().top, t = this.timeAt(event), slack = 2 / this.scale;
    const lane = y < this.head || y > this.visible - this.foot ? null : this.lanes[Math.floor((y - this.head + this.top) / this.high)];
    const at = lane ? lane.rows.filter((row) => row[8] - slack <= t && row[9] + slack >= t) : [];
    return at.find((each) => each[7] !== 'value') || at[0];
  }
}

function laneOf(row) { return row[0] + '.w' + row[1]; }

function describeTask([pool, worker, call, first, tasks, failed, attempt, outcome, from, to]) {
  const which = tasks > 1 ? 'tasks ' + first + ' to ' + (first + tasks - 1) : 'task ' + first;
  const how = outcome === 'value' ? 'done' : outcome === 'lost' ? 'worker lost' : tasks > 1 ? failed + ' failed' : 'failed';
  return pool + '.w' + worker + ', call ' + call + ', ' + which + ', attempt ' + attempt + ': ' + how + ' after ' + span(to - from) +
    ', at ' + span(to);
}
