'use strict';
// How values become text, and text becomes elements. What comes from the session is only ever set as text.

function plain(text) { // Control characters and those that reverse the direction are shown, not obeyed.
  return String(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (c) => {
    const code = c.charCodeAt(0);
    return code < 256 ? '\\x' + code.toString(16).padStart(2, '0') : '\\u' + code.toString(16);
  });
}

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (typeof value === 'function') made.addEventListener(name, value);
    else made.setAttribute(name, value);
  }
  for (const child of children) made.append(child instanceof Node ? child : document.createTextNode(plain(child)));
  return made;
}

function setText(node, text) {
  if (node.shownText === text) return; // Of a large table this is nearly all.
  node.shownText = text;
  const shown = plain(text);
  if (node.textContent !== shown) node.textContent = shown;
}

function byId(id) { return document.getElementById(id); }
function bodyOf(section) { return document.querySelector('#' + section + ' .body'); }
function note(section, text, warn) {
  const line = document.querySelector('#' + section + ' > .note');
  setText(line, text);
  line.classList.toggle('warn', !!warn);
}

function count(n) { return n === undefined || n === null ? '?' : Number(n).toLocaleString('en-US'); }

function number(x) {
  if (x === null || x === undefined) return '?';
  const size = Math.abs(x);
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return x.toExponential(3);
  return String(Number(x.toPrecision(4)));
}

function span(seconds) {
  if (seconds === undefined || seconds === null) return '?';
  if (seconds === 0) return '0';
  if (seconds < 1e-3) return (seconds * 1e6).toFixed(0) + ' µs';
  if (seconds < 0.9995) return (seconds * 1e3).toFixed(seconds < 0.01 ? 1 : 0) + ' ms';
  if (seconds < 10) return seconds.toFixed(1) + ' s';
  const s = Math.round(seconds), two = (n) => String(n).padStart(2, '0');
  if (s < 3600) return Math.floor(s / 60) + ':' + two(s % 60);
  return Math.floor(s / 3600) + ':' + two(Math.floor(s / 60) % 60) + ':' + two(s % 60);
}

function bytes(n) {
  if (n === undefined) return '?';
  for (const unit of ['B', 'kB', 'MB', 'GB'])
    if (n < 1000 || unit === 'GB') return (n < 10 && unit !== 'B' ? n.toFixed(1) : Math.round(n)) + ' ' + unit;
    else n /= 1000;
}

const inOrder = new Intl.Collator('en', { numeric: true }); // As localeCompare, but not made anew for each pair.
function byName(a, b) { return inOrder.compare(a, b); }

function clock(unixSeconds) { return new Date(unixSeconds * 1000).toLocaleTimeString('en-GB'); }

// Keeps one child of `parent` for each item, in order, and reuses those that are there.
function keyed(parent, items, key, make, update) {
  const old = parent.keyedChildren || new Map(), now = new Map();
  let place = parent.firstChild;
  for (const item of items) {
    const id = String(key(item));
    if (now.has(id)) continue;
    let child = old.get(id);
    if (!child) { child = make(item); child.keyedItem = true; }
    now.set(id, child);
    while (place && !place.keyedItem) place = place.nextSibling;
    if (child === place) place = place.nextSibling;
    else parent.insertBefore(child, place);
    update(child, item);
  }
  for (const [id, child] of old) if (!now.has(id)) child.remove();
  parent.keyedChildren = now;
}
