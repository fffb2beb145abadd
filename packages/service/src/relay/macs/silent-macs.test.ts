import { beforeEach, describe, expect, it } from 'vitest';

import { PROBE_MS, SilentMacs, UNCONFIRMED_MS } from './silent-macs.ts';

class TestMac {
  signsOfLife = 0;
  hasUnconfirmed = true;
  readonly calls: string[] = [];

  probe(): void {
    this.calls.push('probe');
  }

  silent(): void {
    this.calls.push('silent');
  }
}

describe('Macs that do not confirm', () => {
  let mac: TestMac;
  let macs: SilentMacs<TestMac>;
  const check = (...times: number[]) => {
    for (const time of times) macs.check(time);
  };
  beforeEach(() => {
    mac = new TestMac();
    macs = new SilentMacs();
    macs.watch(mac, 0);
  });

  it('M10 a silent Mac is pinged, and disconnected when it does not respond', () => {
    check(UNCONFIRMED_MS - 1);
    expect(mac.calls).toEqual([]);
    check(UNCONFIRMED_MS);
    expect(mac.calls).toEqual(['probe']);
    check(UNCONFIRMED_MS + PROBE_MS - 1);
    expect(mac.calls).toEqual(['probe']);
    check(UNCONFIRMED_MS + PROBE_MS, UNCONFIRMED_MS + PROBE_MS + 100);
    expect(mac.calls).toEqual(['probe', 'silent']);
    check(UNCONFIRMED_MS + PROBE_MS + 200);
    expect(mac.calls).toEqual(['probe', 'silent']);
  });

  it('M10 stay as long as they show any sign of life', () => {
    for (let time = 0; time < 60_000; time += UNCONFIRMED_MS) {
      mac.signsOfLife++;
      check(time, time + UNCONFIRMED_MS - 1);
    }
    expect(mac.calls).toEqual([]);
  });

  it('M10 a Mac is no longer watched once it has confirmed everything', () => {
    mac.hasUnconfirmed = false;
    check(100);
    mac.hasUnconfirmed = true;
    check(60_000, 120_000);
    expect(mac.calls).toEqual([]);
  });

  it('M10 have time to answer after the service itself was stalled', () => {
    check(60_000, 60_100, 60_200);
    expect(mac.calls).toEqual(['probe']);
    check(120_000);
    mac.signsOfLife++;
    check(120_100);
    expect(mac.calls).toEqual(['probe']);
  });
});
