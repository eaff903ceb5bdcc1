// ---- sizes
const inputs = new Map();
S.sizes.forEach(s => {
  const label = add($('sizes'), 'label', s.name + ' = '), e = add(label, 'input');
  Object.assign(e, { type: 'number', min: s.lo, max: s.hi, value: D.start[s.name], id: 'size-' + s.name });
  add(label, 'small', D.follows[s.name] ? ' = ' + D.follows[s.name] :
    ' in [' + s.lo + ', ' + s.hi + ']' + (s.multiple_of > 1 ? ', multiple of ' + s.multiple_of : ''));
  e.disabled = !!D.follows[s.name];
  e.oninput = update;
  inputs.set(s.name, e);
});
for (const name in D.most) add($('sizes'), 'small', name + ' depends on data; shown at its maximum, ' + D.most[name]);
function readSizes() {
  const v = Object.create(null);
  for (const s of S.sizes) {
    if (D.follows[s.name]) continue;
    const text = inputs.get(s.name).value, n = /^-?\d+$/.test(text) ? BigInt(text) : undefined;
    const within = n !== undefined && n >= BigInt(s.lo) && n <= BigInt(s.hi);
    if (!within) return s.name + ' must be a whole number in [' + s.lo + ', ' + s.hi + ']';
    if (n % BigInt(s.multiple_of)) return s.name + ' must be a multiple of ' + s.multiple_of;
    v[s.name] = n;
  }
  for (const name in D.follows) inputs.get(name).value = v[name] = parse(D.follows[name])(v);
  for (const name in D.most) v[name] = parse(D.most[name])(v);
  for (const c of S.facts.concat(S.guards)) if (!parse(c)(v)) return 'not allowed: ' + c + ' does not hold';
  sizes = v;
  return '';
}
function update() {
  const problem = readSizes();
  $('problem').textContent = problem;
  if (problem) return;
  cells.forEach(f => f());
  drawMemory();
  drawEdges();
  showDetail();
  fillSteps();
  markSource();
}

// ---- selection: #op=NAME or #kernel=NUMBER
let marked = { kernels: [], ops: [], buffers: new Set(), op: '' };
const go = where => { if (location.hash === '#' + where) choose(); else location.hash = where; };
// Scrolls e to the fraction `at` of the height of its pane.
function show(box, e, at) {
  const y = e.getBoundingClientRect().top - box.getBoundingClientRect().top + box.scrollTop;
  box.scrollTop = y - box.clientHeight * at;
}
function showDetail() {
  const box = $('detail'), n = marked.kernels[0];
  box.textContent = '';
  if (marked.op && n === undefined) {
    add(box, 'p', marked.op + ' is in no kernel: it is an input, a constant or a view.');
  }
  if (n === undefined) return;
  const k = S.kernels[n], p = P.kernels[n], v = variant(n), h = add(box, 'p');
  add(h, 'b', 'kernel ' + n + ' ' + k.name);
  h.append(' ' + k.kind + ' over ' + k.domain);
  if (marked.kernels.length > 1) h.append('; also in');
  const link = (parent, text, where) => {
    const e = add(parent, 'span', text, 'link');
    e.tabIndex = 0;
    onEnter(e, () => go(where));
  };
  marked.kernels.slice(1).forEach(m => link(h, ' kernel ' + m, 'kernel=' + m));
  const line = (title, text) => {
    const e = add(box, 'p');
    add(e, 'small', title + ' ');
    e.append(text);
    return e;
  };
  const formula = (title, f, to, more) => {
    const e = line(title, to(value(f)) + ' ');
    add(e, 'code', '= ' + f);
    if (more) e.append(': ' + more.join(', '));
  };
  const ops = add(box, 'p');
  add(ops, 'small', 'ops ');
  k.origins.forEach((o, i) => {
    const name = (k.results[i] || '').split(', ')[0];
    if (lines.has(name)) link(ops, o + ' \u2192 ' + k.results[i], 'op=' + name);
    else ops.append(o);
    if (i + 1 < k.origins.length) ops.append(', ');
  });
  if (p.part) line('part', 'launched by kernel ' + p.launch + ': ' + p.part.strategy + ': ' + p.part.why);
  if (v) {
    line('why', v.strategy + ': ' + v.why);
    line('launch', v.grid.join(' \u00d7 ') + ' = ' + v.grid.map(value).join(' \u00d7 ') + ' blocks of ' +
      v.threads + ' threads, ' + v.shared_bytes + ' bytes of dynamic shared memory' +
      (v.guard ? ', requires ' + v.guard : '') +
      (v.guard_aligned ? ', requires 16-byte aligned pointers' : ''));
  }
  formula('reads', k.bytes_read, bytes, k.reads.map(b => bufferText(b, tensorIn.get(b))));
  formula('writes', k.bytes_written, bytes, k.writes.map(b => bufferText(b, tensorIn.get(b))));
  formula('flops', k.flops, flops);
  if (p.launch === n) formula('predicted', p.time_ns, time);
}
function choose() {
  const [kind, name] = decodeURIComponent(location.hash.slice(1)).split('=');
  marked = { kernels: [], ops: [], buffers: new Set(), op: '' };
  if (kind === 'op' && lines.has(name)) {
    marked.op = name;
    marked.kernels = kernelsOf.get(name) || [];
    marked.ops = [name];
    const contains = b => b.name === name || b.results.some(r => r.split(', ').includes(name));
    S.buffers.filter(contains).forEach(b => marked.buffers.add(b.name));
  } else if (kind === 'kernel' && S.kernels[name]) {
    marked.kernels = [Number(name)];
    marked.ops = [].concat(...S.kernels[name].results.map(r => r.split(', '))).filter(r => lines.has(r));
    S.kernels[name].writes.forEach(b => marked.buffers.add(b));
  }
  document.querySelectorAll('.mark').forEach(e => e.classList.remove('mark'));
  marked.ops.forEach(x => lines.get(x).classList.add('mark'));
  marked.kernels.forEach(k => $('kernels').rows[k].classList.add('mark'));
  document.querySelectorAll('#memory rect').forEach(r => {
    if (marked.buffers.has(r.dataset.buffer)) r.classList.add('mark');
  });
  showDetail();
  fillSteps();
  markNodes(true);
  const k = marked.kernels[0];
  $('where').textContent = marked.op || k !== undefined ? 'of ' + (marked.op || 'kernel ' + k) : 'select an op or a kernel';
  if (k !== undefined) show($('kernels').closest('.scroll'), $('kernels').rows[k], 0.4);
  scrollSteps();
  if (k !== undefined && narrow.matches) $('detail').scrollIntoView();
}
// Moves the marked lines of the graph and the source of the kernel into view.
function scrollSteps() {
  if (marked.ops.length) show($('graph'), lines.get(marked.ops[0]), 0.3);
  markSource();
}
// Marks the source of the first marked kernel. Other sizes may select another variant.
function markSource() {
  const k = marked.kernels[0], from = k === undefined ? k : sourceOf(k);
  document.querySelectorAll('.kernel.mark').forEach(e => e.classList.remove('mark'));
  $('lines').textContent = from ? 'kernel ' + k + ': lines ' + from.lines.join(' to ') : '';
  if (!from) return;
  const code = from.e.querySelector('.kernel');
  code.classList.add('mark');
  show($('source'), code, 0.02);
}

// ---- search: ops, tensors, kernels; Enter selects the next one
let hits = [], hit = -1;
function search(text) {
  const has = x => x.toLowerCase().includes(text.toLowerCase());
  hit = -1;
  hits = !text ? [] : ops.filter(o => has(o.op) || o.names.some(has)).map(o => 'op=' + o.names[0]);
  if (text) S.kernels.forEach((k, n) => { if (has(k.name) || has('kernel ' + n)) hits.push('kernel=' + n); });
  const names = new Set(hits);
  drawing.nodes.forEach((n, name) => n.e.classList.toggle('hit', names.has('op=' + name)));
  $('found').textContent = text ? hits.length + ' found' : '';
}
$('find').oninput = () => search($('find').value);
$('find').onkeydown = event => {
  if (event.key !== 'Enter' || !hits.length) return;
  hit = (hit + (event.shiftKey ? hits.length - 1 : 1)) % hits.length;
  $('found').textContent = hit + 1 + ' of ' + hits.length;
  go(hits[hit]);
};
$('fold').onchange = () => {
  groups = $('fold').checked ? allGroups : [];
  drawGraph();
  search($('find').value);
  markNodes(true);
};
$('in').onclick = () => setZoom(zoom * 1.25);
$('out').onclick = () => setZoom(zoom / 1.25);
$('fit').onclick = fit;
$('drawn').addEventListener('wheel', event => {
  if (!event.ctrlKey) return;
  event.preventDefault();
  setZoom(zoom * Math.exp(-event.deltaY / 300));
}, { passive: false });
onkeydown = event => {
  if (event.target.tagName === 'INPUT' || event.ctrlKey || event.metaKey || event.altKey) return;
  const f = { '/': () => $('find').focus(), '+': $('in').onclick, '-': $('out').onclick, 0: fit,
    Escape: () => go('') }[event.key];
  if (!f) return;
  event.preventDefault();
  f();
};

// ---- the page
const launches = P.kernels.filter((k, n) => k.launch === n).length;
document.querySelector('h1').textContent = S.kernels.length + ' kernels' +
  (launches < S.kernels.length ? ' in ' + launches + ' launches' : '') + ' of ' + D.name + ' for ' + P.arch;
const facts = document.querySelector('.facts');
[['predicted', P.time_ns, time], ['read', D.bytes_read, bytes], ['written', D.bytes_written, bytes],
  ['flops', D.flops, flops], ['arena', S.arena_bytes, bytes], ['peak', S.peak_bytes, bytes],
  ['unfused', S.unfused_bytes, bytes]].forEach(f => {
  const e = add(facts, 'span', f[0] + ' ');
  cell(e, 'b', f[1], f[2]).id = 'total-' + f[0].replace(/ /g, '-');
});
if (D.measured) {
  const e = add(add(facts, 'span', 'measured '), 'b', '');
  cells.push(() => { e.textContent = isMeasured() ? time(D.measured.total) : 'at other sizes'; });
  e.title = 'on ' + D.measured.device;
}
add(facts, 'small', 'Predicted time of a launch: the longest of ' + P.launch_ns + ' ns, its bytes at ' +
  P.copy_percent + ' % of ' + P.memory_bytes_per_ns + ' GB/s, and its flops at the data sheet\u2019s rate.');
$('fold').parentNode.hidden = !allGroups.length;
update();
drawGraph();
choose();
onhashchange = choose;
onresize = drawMemory;
