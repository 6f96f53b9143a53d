// Asks this server and the Apache beside it for the same pages. Shows medians and both answers.
'use strict';

const REQUESTS = 30;
const WAYS = [
  { name: 'static file', path: 'camel.svg' },
  { name: 'cgi, mod_cgi', path: 'cgi/page.pl' },
  { name: 'perlrun, ModPerl::PerlRun', path: 'perlrun/page.pl' },
  { name: 'registry, ModPerl::Registry', path: 'registry/page.pl' },
];
// The rows of page.pl that differ between two processes.
const OWN = /<tr><th scope="row"><code>(the process that ran it|its perl started|the time)<.*\n/g;

const by = (id) => document.getElementById(id);

function cell(row, label) {
  const made = row.insertCell();
  made.dataset.label = label;
  made.textContent = '…';
  return made;
}

function rowOf(way) {
  const row = by('times').tBodies[0].insertRow();
  const name = document.createElement('th');
  name.scope = 'row';
  name.textContent = way.name;
  row.append(name);
  const cells = ['Here', 'Apache', 'Apache takes'].map((label) => cell(row, label));
  return { ...way, cells, times: [[], []] };
}

async function ask(address) {
  const start = performance.now();
  const answer = await fetch(address, { cache: 'no-store' });
  const text = await answer.text();
  const taken = performance.now() - start;
  if (!answer.ok) throw new Error(`${address}: answered ${answer.status}`);
  return { taken, text };
}

function median(times) {
  const sorted = [...times].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

function draw(way) {
  const medians = way.times.map(median);
  medians.forEach((time, index) => { way.cells[index].textContent = `${time.toFixed(2)} ms`; });
  way.cells[2].textContent = `${(medians[1] / medians[0]).toFixed(1)} times as long`;
}

function shuffled(list) {
  return list.map((one) => [Math.random(), one]).sort((a, b) => a[0] - b[0]).map(([, one]) => one);
}

async function measure(servers) {
  by('measure').disabled = true;
  by('times').tBodies[0].replaceChildren();
  const ways = WAYS.map(rowOf);
  const asked = ways.flatMap((way) => servers.map((server, index) => ({ way, server, index })));
  for (const { way, server } of asked) await ask(server + way.path);
  for (let turn = 1; turn <= REQUESTS; turn += 1) {
    for (const { way, server, index } of shuffled(asked)) {
      const { taken } = await ask(server + way.path);
      way.times[index].push(taken);
    }
    ways.forEach(draw);
    by('state').textContent = `request ${turn} of ${REQUESTS}`;
  }
  by('state').textContent = `medians of ${REQUESTS} requests, taken in this browser`;
  by('measure').disabled = false;
}

async function compare(servers) {
  const path = 'registry/page.pl?visitor=Amastan';
  const pages = await Promise.all(servers.map((server) => ask(server + path)));
  const [here, apache] = pages.map(({ text }) => text.replace(OWN, ''));
  by('equal').textContent = here === apache ? 'they are equal' : 'they differ';
  pages.forEach(({ text }, index) => {
    const figure = document.createElement('figure');
    const caption = document.createElement('figcaption');
    caption.textContent = ['Here', 'Under Apache'][index];
    const table = new DOMParser().parseFromString(text, 'text/html').querySelector('table');
    figure.append(caption, document.adoptNode(table));
    by('pages').append(figure);
  });
}

function tell(text) {
  by('missing').textContent = text;
  by('missing').hidden = false;
}

async function begin() {
  const { text } = await ask('scripts/apache.pl');
  if (!/^http:\/\/127\.0\.0\.1:\d+$/.test(text)) return tell(text);
  if (!['127.0.0.1', 'localhost', '[::1]'].includes(location.hostname)) {
    return tell('Apache listens on 127.0.0.1 only: open this page there.');
  }
  const servers = ['', `${text}/`];
  by('both').hidden = false;
  by('measure').addEventListener('click', () => measure(servers).catch(failed));
  await compare(servers);
  return measure(servers);
}

function failed(error) {
  tell(`The comparison has failed: ${error.message}`);
}

begin().catch(failed);
