// The header as the device knows it: functions, warnings and settings of each pin, read when the tab opens and after changes.
import { useCallback, useEffect, useState } from 'preact/hooks';
import * as api from '../api';
import { deviceAway } from '../away';
import { useNews } from '../live';

export interface PinSettings {
  kind?: string;
  direction?: string;
  pull?: string;
  debounce_ms?: number;
  active_low?: boolean;
  boot?: string;
  fail_safe?: string;
  max_on_seconds?: number;
  interlock?: string;
  interlock_switches?: boolean;
  long_press_ms?: number;
  double_press_ms?: number;
  pwm_hertz?: number;
}

export interface MapPin {
  physical: number;
  pin?: number;
  /** "3.3 V", "Ground", "I2C SDA"; empty for a plain pin. */
  function: string;
  name?: string;
  kind?: string;
  high?: boolean;
  driven?: boolean;
  watched?: boolean;
  pwm?: { hertz: number; percent: number };
  maxOnSeconds?: number;
  interlock?: string;
  changes?: { told: number; coalesced: number };
  warnings?: string[];
  settings?: PinSettings;
}

export interface PinMap {
  /** By BCM number; empty until the device has answered, and where it knows no map. */
  pins: ReadonlyMap<number, MapPin>;
  renew: () => void;
}

export function usePinMap(): PinMap {
  const [pins, setPins] = useState<PinMap['pins']>(new Map());
  const away = deviceAway.value;
  const read = useCallback(async () => {
    try {
      const { result } = await api.execute('pin_map');
      setPins(new Map((result as { pins: MapPin[] }).pins.flatMap((one) => (one.pin === undefined ? [] : [[one.pin, one] as const]))));
    } catch {
      // The header itself says why there are no pins.
    }
  }, []);
  useEffect(() => {
    if (!away) void read();
  }, [away]);
  useNews(['pin-names:changed', 'pins:changed'], () => void read());
  return { pins, renew: () => void read() };
}
