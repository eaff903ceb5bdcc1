// ---- repeated layers: runs of ops that repeat one sequence of ops
// What is drawn: ops that do not depend on constants alone, unless a kernel computes them.
const drawn = [];
{
  const known = new Set([...leaves].filter(([, x]) => x.constant).map(([name]) => name));
  ops.forEach(o => {
    const constant = o.operands.length > 0 && o.operands.every(x => known.has(x));
    if (constant && !o.names.some(x => kernelsOf.has(x))) o.names.forEach(x => known.add(x));
    else drawn.push(o);
  });
  drawn.forEach(o => { o.reads = o.operands.filter(x => !known.has(x)); });
}
const numberOf = new Map();
drawn.forEach((o, i) => o.names.forEach(x => numberOf.set(x, i)));

// The repetition in kinds[from, to) that covers most: { start, period, count }, or null.
function longestRepetition(kinds, from, to) {
  let best = null;
  for (let period = 4; 2 * period <= to - from && period <= 3000; period++) {
    for (let i = from, run = 0; i + period <= to; i++) {
      if (i + period < to && kinds[i] === kinds[i + period]) {
        run++;
        continue;
      }
      const count = Math.floor(run / period) + 1;
      if (count > 1 && (!best || count * period > best.count * best.period)) best = { start: i - run, period, count };
      run = 0;
    }
  }
  return best;
}
// Whether repetition r reads what the first one reads: the same op of its own repetition, the same op before all, or,
// where the first one reads an input of the layers, the repetition before.
function sameOperands(g, r) {
  const from = g.start + r * g.period;
  for (let k = 0; k < g.period; k++) {
    const a = drawn[g.start + k].reads, b = drawn[from + k].reads;
    if (a.length !== b.length) return false;
    for (let j = 0; j < a.length; j++) {
      const x = numberOf.get(a[j]), y = numberOf.get(b[j]), inside = x !== undefined && x >= g.start;
      const before = y !== undefined && y >= from - g.period && y < from;
      if (inside ? y === undefined || y - from !== x - g.start : !before && y !== x) return false;
    }
  }
  return true;
}
// Groups of repetitions, in order: { start, period, count, shown }.
function findGroups() {
  const ids = new Map(), groups = [];
  const kinds = drawn.map(o => {
    const key = o.op + ' ' + o.type + ' ' + o.attrs + ' ' + o.reads.length;
    if (!ids.has(key)) ids.set(key, ids.size);
    return ids.get(key);
  });
  const find = (from, to) => {
    const g = longestRepetition(kinds, from, to);
    if (!g) return;
    let count = 1;
    while (count < g.count && sameOperands(g, count)) count++;
    g.count = count;
    find(from, g.start);
    if (count > 1 && g.period * count >= 16) groups.push(Object.assign(g, { shown: 0 }));
    find(g.start + g.period * Math.max(count, 1), to);
  };
  find(0, drawn.length);
  return groups;
}
