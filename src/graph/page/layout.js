// ---- layered layout. A node is { width, segment, above: [nodes] }, and all nodes above a node come before it. A node
// with `beside` stands in the layer before that node (an input of it). Sets x (of the middle) and layer of each node,
// and returns { layers, paths: [{ from, to, nodes }] }, where nodes are those that a long edge passes.
function setLayers(nodes) {
  let segment = -1, base = 1, most = 0;
  for (const n of nodes) {
    if (n.segment !== segment) {
      segment = n.segment;
      base = most ? most + 2 : 1;
    }
    if (n.beside) continue;
    n.layer = Math.max(base, ...n.above.filter(a => !a.beside).map(a => a.layer + 1));
    most = Math.max(most, n.layer);
  }
  const below = new Map();
  for (const n of nodes) n.above.forEach(a => below.set(a, Math.min(below.get(a) || Infinity, n.layer)));
  for (const n of nodes) {
    if (n.beside) n.layer = n.beside.layer - 1;
    else if (!n.above.length && below.has(n)) n.layer = Math.max(n.layer, below.get(n) - 1);
  }
}
// The layers, with a node without text in each layer that an edge passes.
function fillLayers(nodes) {
  const layers = [], paths = [];
  const put = n => {
    while (layers.length <= n.layer) layers.push([]);
    n.up = [];
    n.down = [];
    layers[n.layer].push(n);
  };
  nodes.forEach(put);
  for (const to of nodes) {
    for (const from of to.above) {
      const path = { from, to, nodes: [] };
      let before = from;
      for (let layer = from.layer + 1; layer <= to.layer; layer++) {
        const next = layer === to.layer ? to : { width: 6, layer, pass: true };
        if (next !== to) {
          put(next);
          path.nodes.push(next);
        }
        before.down.push(next);
        next.up.push(before);
        before = next;
      }
      paths.push(path);
    }
  }
  return { layers, paths };
}
// Orders each layer by the mean position of the neighbours, down and up in turn.
function orderLayers(layers) {
  const number = layer => layer.forEach((n, i) => { n.at = i; });
  layers.forEach(number);
  for (let turn = 0; turn < 12; turn++) {
    const side = turn % 2 ? 'down' : 'up', list = turn % 2 ? [...layers].reverse() : layers;
    for (const layer of list) {
      for (const n of layer) {
        const near = n[side];
        n.key = near.length ? near.reduce((s, m) => s + m.at, 0) / near.length : n.at;
      }
      layer.sort((a, b) => a.key - b.key || a.at - b.at);
      number(layer);
    }
  }
}
// Places the nodes of a layer nearest to their goals without overlap: isotonic regression of goal - offset, by pooling.
function placeLayer(layer, space) {
  const pools = [];
  let offset = 0;
  layer.forEach((n, i) => {
    if (i) offset += (layer[i - 1].width + n.width) / 2 + space;
    n.offset = offset;
    let pool = { sum: (n.goal - offset) * n.weight, weight: n.weight, nodes: [n] };
    while (pools.length && last(pools).sum / last(pools).weight > pool.sum / pool.weight) {
      const left = pools.pop();
      pool = { sum: left.sum + pool.sum, weight: left.weight + pool.weight, nodes: left.nodes.concat(pool.nodes) };
    }
    pools.push(pool);
  });
  pools.forEach(p => p.nodes.forEach(n => { n.x = p.sum / p.weight + n.offset; }));
}
function layOut(nodes) {
  setLayers(nodes);
  const { layers, paths } = fillLayers(nodes), space = 16;
  orderLayers(layers);
  for (const layer of layers) {
    layer.forEach(n => { n.goal = 0; n.weight = n.pass ? 4 : 1; });
    placeLayer(layer, space);
    const middle = layer.length ? (layer[0].x + last(layer).x) / 2 : 0;
    layer.forEach(n => { n.x -= middle; });
  }
  for (let turn = 0; turn < 24; turn++) {
    const list = turn % 2 ? [...layers].reverse() : layers;
    for (const layer of list) {
      layer.forEach(n => {
        const near = turn < 20 ? n[turn % 2 ? 'down' : 'up'] : n.up.concat(n.down);
        const pull = m => (n.pass && m.pass ? 8 : n.pass || m.pass ? 2 : 1), sum = near.reduce((s, m) => s + pull(m), 0);
        n.goal = sum ? near.reduce((s, m) => s + pull(m) * m.x, 0) / sum : n.x;
      });
      placeLayer(layer, space);
    }
  }
  return { layers, paths };
}
