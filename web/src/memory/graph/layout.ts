// A force layout: entities push each other away, facts pull their ends together. The same graph gives the same picture.

export interface Spot {
  x: number;
  y: number;
}

const ROUNDS = 240;
/** The width of the picture; its height is 0.75 of that. */
export const WIDTH = 800;
export const HEIGHT = 600;
const MARGIN = 50;

/** The place of each of `count` entities; `links` are pairs of them. */
export function layout(count: number, links: [number, number][]): Spot[] {
  // A sunflower: evenly spread, and no two in one place.
  const spots = Array.from({ length: count }, (_, n) => {
    const [angle, radius] = [n * 2.399_963, Math.sqrt((n + 0.5) / Math.max(count, 1))];
    return { x: Math.cos(angle) * radius, y: Math.sin(angle) * radius };
  });
  const ideal = 1.6 / Math.sqrt(Math.max(count, 1));
  for (let round = 0; round < ROUNDS; round++) {
    const moves = spots.map(({ x, y }) => ({ x: -x * 0.04, y: -y * 0.04 }));
    const push = (a: number, b: number, strength: (distance: number) => number) => {
      const [one, other, here, there] = [spots[a], spots[b], moves[a], moves[b]];
      if (!one || !other || !here || !there) return;
      const [dx, dy] = [one.x - other.x, one.y - other.y];
      const distance = Math.max(Math.hypot(dx, dy), 1e-3);
      const by = strength(distance) / distance;
      here.x += dx * by;
      here.y += dy * by;
      there.x -= dx * by;
      there.y -= dy * by;
    };
    for (let a = 0; a < count; a++) for (let b = a + 1; b < count; b++) push(a, b, (distance) => (ideal * ideal) / distance);
    for (const [a, b] of links) push(a, b, (distance) => -(distance * distance) / ideal);
    const step = 0.12 * (1 - round / ROUNDS);
    spots.forEach((spot, n) => {
      const move = moves[n] ?? spot;
      const length = Math.max(Math.hypot(move.x, move.y), 1e-6);
      const by = Math.min(length, step) / length;
      spot.x += move.x * by;
      spot.y += move.y * by;
    });
  }
  return fitted(spots);
}

/** Scaled to the picture. */
function fitted(spots: Spot[]): Spot[] {
  const [xs, ys] = [spots.map(({ x }) => x), spots.map(({ y }) => y)];
  const fit = (values: number[], size: number) => {
    const [least, most] = [Math.min(...values), Math.max(...values)];
    return (value: number) => (most - least < 1e-6 ? size / 2 : MARGIN + ((value - least) / (most - least)) * (size - 2 * MARGIN));
  };
  const [x, y] = [fit(xs, WIDTH), fit(ys, HEIGHT)];
  return spots.map((spot) => ({ x: x(spot.x), y: y(spot.y) }));
}
