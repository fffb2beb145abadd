import type { Service } from '@footbridge/testkit/service';

/** Resolves with how many unconfirmed frames the node has copied to the others (M10). */
export async function copiedBy({ operatorUrl }: Pick<Service, 'operatorUrl'>): Promise<number> {
  const text = await (await fetch(`${operatorUrl}/metrics`)).text();
  return Number(/^footbridge_mac_sends_copied_total (\d+)$/m.exec(text)?.[1]);
}
