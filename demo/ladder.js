// Measures the rungs from this browser and draws their medians. Every figure is measured now.
'use strict';

const REQUESTS = 50;
const RUNGS = [
  { name: 'static file', url: 'camel.svg', kind: 'floor', says: 'no Perl: what the browser and the network take' },
  { name: 'cgi', url: 'cgi/page.pl', says: 'starts an interpreter' },
  { name: 'fork', url: 'fork/page.pl', says: 'forks one that is ready' },
  { name: 'rewind', url: 'rewind/page.pl', says: 'puts one process back after each request' },
  { name: 'perlrun', url: 'perlrun/page.pl', kind: 'worker', says: 'compiles in a worker' },
  { name: 'registry', url: 'registry/page.pl', kind: 'worker', says: 'calls a subroutine in a worker' },
  { name: 'auto', url: 'auto/page.pl', says: 'as rewind, or as fork where a script needs it' },
];

const list = document.getElementById('rungs');
const button = document.getElementById('measure');
const state = document.getElementById('state');

function element(tag, className, text = '') {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  return made;
}

function row(rung) {
  const item = element('li', rung.kind || '');
  const bar = element('div', 'bar');
  const track = element('div', 'track');
  const time = element('span', 'time', '…');
  const note = element('span', 'note', rung.says);
  track.append(bar);
  item.append(element('span', 'name', rung.name), track, time, note);
  list.append(item);
  return { ...rung, bar, time, note, times: [], processes: new Set(), fault: '' };
}

async function ask(rung) {
  const address = `${rung.url}?visitor=Amastan&run=${rung.times.length}`;
  const start = performance.now();
  const answer = await fetch(address, { cache: 'no-store' });
  await answer.arrayBuffer();
  const taken = performance.now() - start;
  const process = answer.headers.get('X-Process');
  if (answer.status === 404) throw new Error('not set up in this run: `make serve` sets it up');
  if (!answer.ok || (rung.kind !== 'floor' && !process)) throw new Error(`answered ${answer.status}`);
  if (process) rung.processes.add(process);
  return taken;
}

// A rung that fails says why and drops out; the others go on.
async function sample(rung, counted) {
  if (rung.fault) return;
  try {
    const taken = await ask(rung);
    if (counted) rung.times.push(taken);
  } catch (error) {
    rung.fault = error.message;
  }
}

function median(times) {
  const sorted = [...times].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

function processesSaid(rung) {
  const count = rung.processes.size;
  if (!count) return '';
  return `, answered by ${count} ${count === 1 ? 'process' : 'different processes'}`;
}

function draw(rungs) {
  const medians = rungs.map((rung) => (rung.times.length ? median(rung.times) : 0));
  const longest = Math.max(...medians, 0.001);
  rungs.forEach((rung, index) => {
    rung.bar.style.width = `${(100 * medians[index]) / longest}%`;
    rung.time.textContent = rung.times.length ? `${medians[index].toFixed(2)} ms` : '–';
    rung.note.textContent = rung.fault || rung.says + processesSaid(rung);
  });
}

// The order of the rungs changes: work that one rung leaves behind would otherwise always count for
// the same next rung.
function shuffled(rungs) {
  const order = rungs.map((rung) => [Math.random(), rung]);
  return order.sort((a, b) => a[0] - b[0]).map(([, rung]) => rung);
}

async function measure() {
  button.disabled = true;
  list.replaceChildren();
  const rungs = RUNGS.map(row);
  for (const rung of rungs) await sample(rung, false);
  for (const rung of rungs) rung.processes.clear();
  for (let turn = 1; turn <= REQUESTS; turn += 1) {
    for (const rung of shuffled(rungs)) await sample(rung, true);
    state.textContent = `request ${turn} of ${REQUESTS} on each rung`;
    draw(rungs);
  }
  state.textContent = `medians of ${REQUESTS} requests, taken in this browser at ${new Date().toLocaleTimeString()}`;
  button.disabled = false;
}

button.addEventListener('click', measure);
measure();
