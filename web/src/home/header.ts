// The 40-pin header: what each physical pin carries.

export type Bus = 'i2c' | 'uart' | 'spi' | 'id';

export interface Place {
  /** 1 to 40; odd pins left, even pins right. */
  physical: number;
  /** The BCM number, for pins that can be switched. */
  pin?: number;
  /** Its alternative function. */
  bus?: Bus;
  /** Its fixed function. */
  fixed?: '3V3' | '5V' | 'GND';
}

const BUSES: Record<number, Bus> = {
  0: 'id', 1: 'id', 2: 'i2c', 3: 'i2c', 7: 'spi', 8: 'spi', 9: 'spi', 10: 'spi', 11: 'spi', 14: 'uart', 15: 'uart',
};

// In pairs from the square pad, seen from above.
const LAYOUT = `
  3V3 5V    2 5V     3 GND    4 14   GND 15
  17 18     27 GND   22 23    3V3 24 10 GND
  9 25      11 8     GND 7    0 1    5 GND
  6 12      13 GND   19 16    26 20  GND 21`;

export const HEADER: Place[] = LAYOUT.trim().split(/\s+/).map((what, n) => {
  const physical = n + 1;
  if (what === '3V3' || what === '5V' || what === 'GND') return { physical, fixed: what };
  const pin = Number(what);
  const bus = BUSES[pin];
  return bus ? { physical, pin, bus } : { physical, pin };
});
