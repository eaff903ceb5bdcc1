// ---- graph: its lines, the line that defines each tensor, the kernels that compute it, ops and their operands
const lines = new Map(), kernelsOf = new Map();
// Ops in order: { names, op, type, attrs, operands }; leaves: inputs and constants by name; ends: outputs and mutations.
const ops = [], opOf = new Map(), leaves = new Map(), ends = [];
S.kernels.forEach((k, n) => k.results.forEach(r => r.split(', ').forEach(x => {
  if (!kernelsOf.has(x)) kernelsOf.set(x, []);
  if (last(kernelsOf.get(x)) !== n) kernelsOf.get(x).push(n);
})));
// Operands come first in a call, attributes follow: "mul(x, y)", "cat([x, y], dim=1)", "gelu(x, approximate=tanh)".
function readOp(names, left, call) {
  const inside = call.replace(/   # .*/, '').replace(/"[^"]*"/g, '');
  const from = inside.indexOf('(') + 1, at = inside.slice(from).search(/\w+=/), attrs = at < 0 ? inside.length : from + at;
  const known = x => opOf.has(x) || leaves.has(x);
  const o = { names, op: (/   # (.+)/.exec(call) || [0, inside.slice(0, from - 1)])[1],
    type: last(left.split(' : ')), attrs: inside.slice(attrs),
    operands: (inside.slice(from, attrs).match(/(?<![\w.])[A-Za-z_][\w.]*/g) || []).filter(known) };
  names.forEach(x => opOf.set(x, o));
  ops.push(o);
}
function readEnds(text) {
  const [word, rest] = [text.trim().split(' ', 1)[0], text.trim().replace(/^\w+ /, '')];
  if (word === 'mutate') ends.push({ label: '\u2192 ' + rest.split(' = ')[0], from: rest.split(' = ')[1] });
  if (word === 'output') {
    rest.split(', ').forEach(x => ends.push({ label: 'output ' + x.split(' = ')[0], from: last(x.split(' = ')) }));
  }
}
D.graph.replace(/\n$/, '').split('\n').forEach((text, n) => {
  const e = add($('graph'), 'span', '', 'op');
  add(e, 'i', String(n + 1).padStart(4));
  const gutter = add(e, 'i', '      ');
  e.append(text.replace(/ multiple_of 1 /, ' '));
  const equal = text.indexOf(' = '), op = equal > 0 && !/^  (mutate|output|fact|guard|function|pattern)\b/.test(text);
  if (!op) readEnds(text);
  if (!op && !/^  (input|const) /.test(text)) return;
  const left = op ? text.slice(0, equal) : text.replace(/^  \w+/, ' ');
  const names = (left.match(/[\w.]+ : /g) || []).map(x => x.slice(0, -3));
  names.forEach(x => lines.set(x, e));
  if (!names.length) return;
  if (op) readOp(names, left, text.slice(equal + 3));
  else leaves.set(names[0], { constant: /^  const/.test(text), type: last(left.split(' : ')) });
  const k = [...new Set([].concat(...names.map(x => kernelsOf.get(x) || [])))];
  e.classList.add('click');
  e.tabIndex = 0;
  e.dataset.op = names[0];
  e.title = k.length ? 'in kernel ' + k.join(', ') : 'in no kernel';
  if (k.length) {
    e.style.borderLeftColor = hue(k[0]);
    gutter.textContent = (k[0] + (k.length > 1 ? '+' : ' ')).padStart(5) + ' ';
  }
  onEnter(e, () => go('op=' + names[0]));
});
