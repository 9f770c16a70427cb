// Takes pictures of the session, from the driver or from this very file, and shows them.

const stream = new TaskStream(byId('stream'), byId('stream-box'), byId('stream-window'), showTask, showEvent);
let picture = null, heardAt = 0, outputJob = null;

function setState(text, style) {
  setText(byId('state'), text);
  byId('state').className = 'badge ' + style;
}

function setBanner(text, calm) {
  byId('banner').hidden = !text;
  byId('banner').className = calm ? 'calm' : '';
  setText(byId('banner'), text);
}

// Says which task a bar is, and why it failed.
function showTask(row) {
  setText(byId('stream-task'), describeTask(row));
  const failure = row[7] === 'value' ? null : failureOf(row, picture);
  byId('stream-error').hidden = row[7] === 'value';
  setText(byId('stream-error'), failure ? failure.who + ': ' + failure.why : 'Its error is not kept any more, or the task was tried again. The last ' +
    count((picture.failures || []).length) + ' of ' + count(picture.failures_seen) + ' failures are kept.');
}

// Says what happened to a job, where the stream is pointed at.
function showEvent(event) {
  setText(byId('stream-task'), eventText(event) + ', at ' + span(event.time));
  byId('stream-error').hidden = event.what !== 'lost';
  setText(byId('stream-error'), event.why || '');
}

function showStream(whole) {
  const part = picture.stream;
  byId('stream-bar').hidden = byId('stream-box').hidden = byId('stream-task').hidden = !part;
  if (!part) {
    note('tasks', 'Tasks are not recorded: neither FIBER_DASHBOARD nor FIBER_REPORT was set when the program started.');
    return;
  }
  const start = picture.at - picture.session.age_seconds;
  stream.events = ((picture.events || {}).last || []).map((event) => ({ ...event, time: event.at - start }));
  stream.add(part.rows, whole, picture.session.age_seconds);
  const gone = part.dropped + stream.dropped;
  note('tasks', (stream.rows.length ? '' : 'No task has ended yet. ') +
    (part.left_out ? count(part.left_out) + ' tasks are left out: more than 400 frames a second came. ' : '') +
    (gone ? count(gone) + ' earlier tasks are not kept any more. ' : '') + 'Tasks that a worker answers together are one bar.', part.left_out > 0);
}

function refresh() {
  if (!picture) return;
  const session = picture.session;
  document.title = session.name + ' - Fiber';
  setText(byId('name'), session.name);
  byId('facts').title = session.program;
  setText(byId('facts'), session.program.split('/').pop() + ', pid ' + session.pid + ' on ' + session.host + ', backend ' + session.backend + ', up ' + span(session.age_seconds));
  for (const show of [showSeries, showWorkers, showFailures, showEvents, showSupervisors, showRings, showManagers, showQueues, showPools]) show(picture);
}

function take(next, whole) {
  picture = next;
  heardAt = Date.now();
  showStream(whole);
  refresh();
}

function showOutputText(title, text) {
  byId('output').hidden = false;
  setText(byId('output-of'), title);
  setText(byId('output-text'), text);
  byId('output-text').scrollTop = byId('output-text').scrollHeight;
}

async function showOutput(job) {
  outputJob = job;
  const kept = picture && picture.outputs;
  if (kept) {
    showOutputText('Output of ' + job, job in kept ? kept[job] : 'This file does not have the output of this job.');
    return;
  }
  showOutputText('Output of ' + job, 'asking the driver ...');
  let title = 'Output of ' + job, text;
  try {
    const reply = await (await fetch('output?job=' + encodeURIComponent(job))).json();
    title += reply.ended ? ' (has ended)' : '';
    text = reply.error || reply.text || 'It has printed nothing.';
  } catch (error) {
    text = 'The driver does not answer.';
  }
  if (outputJob === job) showOutputText(title, text);
}

function connect() {
  const source = new EventSource('events');
  source.addEventListener('picture', (event) => {
    const next = JSON.parse(event.data);
    take(next, next.whole);
    if (next.over) {
      source.close();
      setState('ended', 'gone');
      setBanner('The session ended at ' + clock(next.at) + '. This is its last picture.', true);
      heardAt = 0;
      return;
    }
    setState('live', 'live');
    setBanner('');
  });
  source.addEventListener('error', () => {
    if (source.readyState === EventSource.CLOSED && !picture) setBanner('The driver refuses to show this page.');
    else if (picture) lose('The driver does not answer. It has ended, was killed, or can\'t be reached.');
    setState(picture ? 'lost' : 'connecting', 'gone');
  });
  setInterval(() => {
    if (heardAt && Date.now() - heardAt > 8000 + 1000 * (picture.interval_seconds || 0)) lose('The driver is silent.');
  }, 1000);
}

function lose(why) {
  setState('lost', 'gone');
  setBanner(why + ' This is the last picture, from ' + clock(picture.at) + '.');
}

function openReport(text) {
  take(JSON.parse(text), true);
  setState('report', '');
  stream.seconds = Math.max(1, Math.min(600, picture.session.age_seconds));
  stream.draw();
  setBanner('A report of ' + new Date(picture.at * 1000).toLocaleString('en-GB') + (picture.over ? ', when the session ended.' :
    picture.over === false ? ', while the session ran. If it does not run any more, it was killed after that.' : ', while the session ran.'), true);
}

const sections = [...document.querySelectorAll('main > section')];
document.querySelector('nav').append(...sections.map((section, i) =>
  element('a', { href: '#' + section.id }, (i + 1) % 10 + ' ' + section.querySelector('h2').textContent, element('b', {}))));
byId('stream-bar').addEventListener('click', (event) => { if (event.target.dataset.do) stream.act(event.target.dataset.do); });
byId('filter').addEventListener('input', (event) => { view.filter = event.target.value.toLowerCase(); refresh(); });
bodyOf('workers').addEventListener('scroll', () => requestAnimationFrame(drawWorkers), { passive: true });
byId('output-close').addEventListener('click', () => { byId('output').hidden = true; outputJob = null; });
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') { byId('output').hidden = true; outputJob = null; return; }
  if (event.target.tagName === 'INPUT' || event.ctrlKey || event.altKey || event.metaKey) return;
  const section = sections[event.key === '0' ? 9 : Number(event.key) - 1];
  if (section) section.scrollIntoView();
  else if (event.key === '/') { event.preventDefault(); byId('filter').focus(); }
});
for (const change of [matchMedia('(prefers-color-scheme: dark)'), window])
  change.addEventListener(change === window ? 'resize' : 'change', () => { stream.draw(); refresh(); });

const report = byId('report');
if (report) openReport(report.textContent);
else connect();
