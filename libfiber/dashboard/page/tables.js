// The sections: each shows its part of a picture, and says what it leaves out.

const rowsAround = 12; // Of the table of workers: how many are made above and below those in view.
const mostHigh = 560; // Pixels of it in view.
const view = { filter: '', kind: '', use: new Map(), found: [], now: 0 };

function facts(item) {
  return element('dl', {}, ...Object.keys(item).map((name) => element('div', {}, element('dt', {}, name), element('dd', { 'data-of': name }))));
}

function poolFacts(pool) {
  return {
    workers: count(pool.workers_up) + ' of ' + count(pool.workers_wanted), queued: count(pool.queued), prefetched: count(pool.prefetched), running: count(pool.running),
    done: count(pool.done), failed: count(pool.failed), retries: count(pool.retries), 'workers lost': count(pool.workers_lost),
    'tasks/s': number(pool.tasks_per_second), p50: pool.done ? span(pool.p50_seconds) : '-', p99: pool.done ? span(pool.p99_seconds) : '-',
    sent: bytes(pool.bytes_sent), received: bytes(pool.bytes_received) };
}

function chartBox(title) {
  return element('div', { class: 'chart' }, element('h3', {}, title), chartCanvas(title), element('p', {}));
}

function makePool(pool) {
  const charts = element('div', { class: 'charts' }, chartBox('workers up, wanted (dashed)'), chartBox('tasks/s'));
  return element('div', { class: 'pool', 'data-pool': pool.name }, element('h3', {}, pool.name), facts(poolFacts(pool)), element('div', { class: 'calls' }), charts);
}

function updateCall(row, call, rate) {
  const [name, bar, text] = row.children;
  const part = call.total > 0 ? call.done / call.total : 0;
  setText(name, 'call ' + call.call + ' ' + (call.function || '(no name: the program was stripped)'));
  bar.value = part;
  const left = rate > 0 && call.total_known ? ', ' + span((call.total - call.done) / rate) + ' left' : '';
  setText(text, count(call.done) + ' of ' + (call.total_known ? '' : 'at least ') + count(call.total) + ' (' + Math.floor(100 * part) + ' %)' + left);
}

function showPools(picture) {
  const pools = picture.pools || [];
  note('pools', [pools.length ? '' : 'This session has no pool yet.',
    picture.silent_parts ? picture.silent_parts + ' pools, queues or supervisors were too busy to answer; what they show is missing or old.' : '',
    picture.pools_forgotten ? count(picture.pools_forgotten) + ' pools that ended earlier are left out.' : '',
    pools.length ? 'Charts begin when somebody first looked at the session, or at its start if it writes a report.' : ''].filter(Boolean).join(' '), picture.silent_parts);
  keyed(bodyOf('pools'), pools, (pool) => pool.name, makePool, (box, pool) => {
    box.classList.toggle('ended', !!pool.ended);
    setText(box.firstChild, pool.name + (pool.ended ? ' (has ended; as it was seen last)' : ''));
    for (const [name, value] of Object.entries(poolFacts(pool))) setText(box.querySelector('[data-of="' + name + '"]'), value);
    keyed(box.querySelector('.calls'), pool.calls || [], (call) => call.call,
      () => element('div', { class: 'call' }, element('span', {}), element('progress', { max: 1 }), element('span', {})),
      (row, call) => updateCall(row, call, pool.tasks_per_second));
    const charts = box.querySelector('.charts');
    charts.hidden = !pool.history;
    if (charts.hidden) return;
    const [workers, rate] = charts.querySelectorAll('canvas');
    const points = (name) => (pool.history.find((one) => one.name === name) || { points: [] }).points;
    drawChart(workers, [{ points: points('workers_wanted'), colour: 'dim', dashed: true, steps: true }, { points: points('workers_up'), colour: 'c0', steps: true }], { zero: true });
    drawChart(rate, [{ points: points('tasks_per_second'), colour: 'c1' }], { zero: true });
  });
}

function showSeries(picture) {
  const series = picture.series || [];
  note('trainings', (series.length ? '' : 'Nothing is published. A driver publishes with fiber::publish("return", x).') +
    (picture.series_values_refused ? ' ' + count(picture.series_values_refused) + ' values are left out: a session has at most 64 series.' : ''));
  keyed(bodyOf('trainings'), series, (one) => one.name, (one) => { const box = chartBox(one.name); box.dataset.series = one.name; return box; }, (box, one) => {
    setText(box.lastChild, 'last ' + number(one.last) + ', ' + count(one.values) + ' values' +
      (one.values_in_a_point > 1 ? '; thinned: each point is the mean of ' + one.values_in_a_point : ''));
    drawChart(box.querySelector('canvas'), [{ points: one.points, colour: 'c0' }]);
  });
}

function cpuOf(job, now) {
  if (job.cpu_seconds === undefined) return '-';
  const known = view.use.get(job.job);
  if (!known) view.use.set(job.job, { at: now, cpu: job.cpu_seconds, text: '' });
  else if (job.cpu_seconds !== known.cpu || now - known.at > 5) {
    const part = Math.max(0, job.cpu_seconds - known.cpu) / Math.max(0.1, now - known.at);
    Object.assign(known, { at: now, cpu: job.cpu_seconds, text: Math.round(100 * part) + ' %' });
  }
  return (known && known.text) || span(job.cpu_seconds) + ' in all';
}

const columns = [ // Title, class, and the text of a job.
  ['job', ''], ['kind', 'wide'], ['state', 'words'], ['tasks', 'n'], ['restarts', 'n'], ['cpu', 'n'], ['memory', 'n'], ['heard', 'n'], ['age', 'n'],
  ['pid', 'n wide'], ['engine', 'wide']];

function stateOf(job) { return job.state + (job.waits_for ? ' for ' + span(job.waits_seconds) + ': ' + job.waits_for : ''); }

function jobTexts(job, now) {
  return [job.job, job.kind, stateOf(job), job.tasks === undefined ? '-' : count(job.tasks), count(job.restarts), cpuOf(job, now),
    job.memory_bytes === undefined ? '-' : bytes(job.memory_bytes), job.silent_seconds === undefined ? '-' : span(job.silent_seconds) + ' ago',
    span(job.age_seconds), job.pid || '-', job.id || '-'];
}

function tableIn(body, heads) {
  if (!body.querySelector('table')) {
    const row = element('tr', {}, ...heads.map(([title, style]) => element('th', { class: style, scope: 'col' }, title)));
    body.append(element('table', {}, element('thead', {}, row), element('tbody', {})));
  }
  return body.querySelector('tbody');
}

function makeJob(job) {
  const row = element('tr', { 'data-job': job.job }, ...columns.map(([, style]) => element('td', { class: style })));
  row.firstChild.append(element('button', { class: 'link', title: 'Show its output', click: () => showOutput(job.job) }));
  return row;
}

function showKinds(jobs) {
  const kinds = new Map();
  for (const job of jobs) kinds.set(job.kind, (kinds.get(job.kind) || 0) + 1);
  const all = [['', jobs.length], ...[...kinds].sort()];
  keyed(byId('kinds'), all, (kind) => kind[0], ([kind]) => element('button', { click: () => { view.kind = kind; refresh(); } }), (button, [kind, n]) => {
    const names = { '': 'all', pool: 'pool workers', objects: 'managers and objects', ring: 'ring members' };
    setText(button, (names[kind] || kind) + ' ' + count(n));
    button.setAttribute('aria-pressed', String(view.kind === kind));
  });
}

function showWorkers(picture) {
  const jobs = picture.jobs || [], now = picture.session.age_seconds;
  showKinds(jobs);
  const fits = (job) => (!view.kind || job.kind === view.kind) &&
    (!view.filter || [job.job, stateOf(job), job.kind, job.id].join(' ').toLowerCase().includes(view.filter));
  const trouble = (job) => (job.state === 'up' ? 0 : 1) + (job.restarts > 0 ? 2 : 0);
  const found = jobs.filter(fits).sort((a, b) => trouble(b) - trouble(a) || byName(a.job, b.job));
  const states = (state) => jobs.filter((job) => job.state === state).length;
  note('workers', jobs.length ? count(states('up')) + ' up, ' + count(states('starting')) + ' starting, ' + count(states('draining')) + ' draining; ' +
    count(picture.session.jobs_lost) + (picture.session.jobs_lost === 1 ? ' was' : ' were') + ' lost so far. ' + count(found.length) + ' of ' + count(jobs.length) + ' are shown, those with restarts first.' +
    (jobs.some((job) => job.memory_bytes !== undefined) ? '' : ' CPU and memory are known for local jobs only.') : 'No job is up.');
  Object.assign(view, { found, now });
  drawWorkers();
  bodyOf('workers').hidden = document.querySelector('#workers > .bar').hidden = !jobs.length;
  const ended = picture.ended_jobs || [];
  setText(document.querySelector('#ended .note'), ended.length ? 'The last ' + ended.length + ' whose output is kept; at most 64 KiB of each, 2 MiB of all.' +
    (picture.outputs_left_out ? ' This file has the output of the last ' + Object.keys(picture.outputs).length + ' only.' : '') : 'None has ended with output.');
  keyed(document.querySelector('#ended .chips'), [...ended].reverse(), (job) => job, (job) => element('button', { click: () => showOutput(job) }, job), () => {});
}

// Makes the rows of workers that are in view, and leaves the room of the others.
function drawWorkers() {
  const box = bodyOf('workers'), body = tableIn(box, columns), { found, now } = view;
  const high = (body.firstChild && body.firstChild.getBoundingClientRect().height) || 26;
  const first = Math.max(0, Math.min(found.length, Math.floor(box.scrollTop / high)) - rowsAround);
  const last = Math.min(found.length, first + Math.ceil(mostHigh / high) + 2 * rowsAround);
  body.parentNode.style.margin = first * high + 'px 0 ' + (found.length - last) * high + 'px';
  keyed(body, found.slice(first, last), (job) => job.job, makeJob, (row, job) => {
    if (row.className !== job.state) row.className = job.state;
    jobTexts(job, now).forEach((text, i) => setText(i ? row.children[i] : row.firstChild.firstChild, text));
    row.children[2].title = job.waits_for ? plain(job.waits_for) : '';
  });
}

function causeOf(failure) {
  return failure.kind + ' ' + failure.why.split('\n')[0].replace(/0x[0-9a-f]+/gi, '0x…').replace(/\d+/g, '#').replace(/\b(pool|process|async|ring|manager)#[.\w#-]*/g, '$1…');
}

function showFailures(picture) {
  const failures = picture.failures || [], groups = new Map();
  for (const failure of failures) {
    const cause = causeOf(failure);
    if (!groups.has(cause)) groups.set(cause, []);
    groups.get(cause).push(failure);
  }
  note('failures', failures.length ? 'The last ' + count(failures.length) + ' of ' + count(picture.failures_seen) + ', grouped by their first line.' : 'Nothing has failed.');
  setText(document.querySelector('nav [href="#failures"] b'), failures.length ? ' ' + count(picture.failures_seen) : '');
  const sorted = [...groups].sort((a, b) => b[1].length - a[1].length);
  keyed(bodyOf('failures'), sorted, (group) => group[0], () => element('details', { class: 'cause' }, element('summary', {}, element('b', {}), ' ', element('span', {})),
    element('p', { class: 'note' }), element('div', { class: 'chips' }), element('pre', {})), (box, [, all]) => {
    const last = all[all.length - 1], names = [...new Set(all.map((failure) => failure.who))];
    setText(box.querySelector('b'), count(all.length) + ' ×');
    setText(box.querySelector('summary span'), (last.kind === 'job' ? 'job: ' : 'task: ') + last.why.split('\n')[0]);
    setText(box.querySelector('.note'), 'First at ' + all[0].at + ', last at ' + last.at + '.' + (names.length > 30 ? ' The last 30 of ' + names.length + ' are named.' : ''));
    keyed(box.querySelector('.chips'), names.slice(-30), (who) => who, (who) => last.kind === 'job' ?
      element('button', { title: 'Show its output', click: () => showOutput(who) }, who) : element('span', { class: 'badge' }, who), () => {});
    setText(box.querySelector('pre'), last.why);
  });
}

// The failure that a bar of the task stream stands for, if the picture still has it. Tasks of
// several calls have the same number, so the time decides.
function failureOf(row, picture) {
  const [pool, worker, , first, tasks, , , outcome, , to] = row;
  const at = picture.at - picture.session.age_seconds + to;
  const near = (failure) => Math.abs(Date.parse(failure.at) / 1000 - at);
  const fits = (failure) => {
    if (outcome === 'lost') return failure.kind === 'job' && failure.who.startsWith(pool + '.w');
    const task = Number(failure.who.slice(pool.length + 6));
    return failure.kind === 'task' && failure.who.startsWith(pool + ' task ') && task >= first && task < first + tasks;
  };
  const found = (picture.failures || []).filter((failure) => fits(failure) && near(failure) < 5).sort((a, b) =>
    b.who.startsWith(pool + '.w' + worker + '-') - a.who.startsWith(pool + '.w' + worker + '-') || near(a) - near(b));
  return found[0];
}

function showEvents(picture) {
  const events = picture.events || { all: 0, last: [] };
  note('events', events.all ? 'Jobs that came and went, the latest first: the last ' + count(events.last.length) + ' of ' + count(events.all) + '.' : 'No job has come or gone.');
  let number = events.all;
  const all = [...events.last].reverse().map((event) => ({ ...event, id: number-- }));
  keyed(bodyOf('events'), all, (event) => event.id, (event) => element('li', {}, element('time', {}, clock(event.at)),
    element('span', { class: event.what }, eventText(event))), () => {});
}

function eventText(event) {
  return event.job + ' ' + { up: 'is up', draining: 'gets no more tasks', ended: 'has ended', lost: 'was lost' }[event.what] +
    (event.why ? ': ' + event.why.split('\n')[0] : '');
}

function treeOf(children) {
  return element('ul', {}, ...children.map((child) => {
    const dead = child.alive === false;
    const item = element('li', {}, element('span', dead ? { class: 'down' } : {}, child.name + (dead ? ' is down' : '')),
      element('em', {}, (child.strategy ? ' ' + child.strategy : '') + (child.restarts !== undefined ? ' restarts ' + count(child.restarts) : '') +
        (child.last_error ? ' last error: ' + child.last_error.split('\n')[0] : '')));
    if (child.children && child.children.length) item.append(treeOf(child.children));
    return item;
  }));
}

function showSupervisors(picture) {
  const all = picture.supervisors || [], text = JSON.stringify(all), body = bodyOf('supervisors');
  note('supervisors', all.length ? '' : 'This session has no supervisor of its own.');
  if (body.shownText === text) return;
  body.shownText = text;
  body.replaceChildren(...(all.length ? [treeOf(all)] : []));
}

// A table with a row for each part of a list; those that have ended come last.
function showTable(section, all, heads, texts) {
  const sorted = [...all].sort((a, b) => (a.ended ? 1 : 0) - (b.ended ? 1 : 0));
  const seen = new Map(); // Names need not be unique.
  const rows = sorted.map((part) => {
    seen.set(part.name, (seen.get(part.name) || 0) + 1);
    return { part, id: seen.get(part.name) + ' ' + part.name };
  });
  keyed(tableIn(bodyOf(section), heads), rows, (row) => row.id, ({ part }) =>
    element('tr', { 'data-name': part.name }, ...heads.map(([, style]) => element('td', { class: style }))), (row, { part }) => {
    row.classList.toggle('past', !!part.ended);
    texts(part).forEach((text, i) => setText(row.children[i], text));
  });
  bodyOf(section).hidden = !all.length;
}

function forgotten(n, what) { return n ? ' ' + count(n) + ' ' + what + ' that ended earlier are left out.' : ''; }

function showRings(picture) {
  const all = picture.rings || [];
  note('rings', (all.length ? 'Groups of jobs that run one function together. Rank 0 reports collectives once a second; a restart begins a new attempt, which counts them anew.' :
    'This session has no ring.') + forgotten(picture.rings_forgotten, 'rings'));
  const heads = [['ring', ''], ['state', ''], ['members up', 'n'], ['attempt', 'n'], ['restarts', 'n'], ['collectives', 'n']];
  showTable('rings', all, heads, (ring) => [ring.name, ring.ended ? 'has ended' : ring.members_up === ring.members ? 'up' : ring.members_running ? 'starting' : 'restarting',
    count(ring.members_up) + ' of ' + count(ring.members), count(ring.attempt),
    count(ring.restarts) + (ring.max_restarts === undefined ? '' : ' of ' + count(ring.max_restarts)), count(ring.collectives)]);
}

function showManagers(picture) {
  const all = picture.managers || [];
  note('managers', (all.length ? 'Their objects live in a job each, and are called from other processes.' : 'This session has no manager.') +
    forgotten(picture.managers_forgotten, 'managers'));
  const heads = [['manager', ''], ['state', ''], ['objects', 'n'], ['calls', 'n'], ['running', 'n'], ['waiting', 'n'], ['restarts', 'n'], ['types', 'wrap']];
  showTable('managers', all, heads, (manager) => [manager.name, manager.state, count(manager.objects), count(manager.calls), count(manager.running),
    count(manager.waiting), count(manager.restarts), manager.types.map((one) => (one.type || '(no name: the program was stripped)') + ' ' + count(one.objects)).join(', ')]);
}

function usersText(n, names) {
  if (!n) return '0';
  return count(n) + ' (' + names.join(', ') + (n > names.length ? ', ...' : '') + ')';
}

function showQueues(picture) {
  const all = picture.queues || [];
  note('queues', all.length ? 'Those that live in the driver, and the processes that have used them and are alive.' : 'No queue or pipe lives in the driver.');
  const heads = [['queue', ''], ['kind', 'wide'], ['items', 'n'], ['capacity', 'n'], ['put so far', 'n'], ['waiting producers', 'n'], ['waiting consumers', 'n'],
    ['producers', 'wrap'], ['consumers', 'wrap']];
  showTable('queues', all, heads, (queue) => [queue.name, queue.kind, count(queue.items), queue.capacity === undefined ? 'none' : count(queue.capacity),
    count(queue.put), count(queue.waiting_puts), count(queue.waiting_gets), usersText(queue.producers, queue.producer_jobs), usersText(queue.consumers, queue.consumer_jobs)]);
}
