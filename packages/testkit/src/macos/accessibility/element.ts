export type AxValue =
  | string
  | number
  | boolean
  | { readonly attributed: string }
  | { readonly linked: readonly string[] };

/** An element of the simulated screen. A tree is a snapshot: reading does not change it. */
export interface AxElement {
  /** Names what the element stands for. An element that is no longer in the tree is invalid. */
  readonly id: string;
  readonly attributes: Readonly<Record<string, AxValue>>;
  readonly actions: readonly string[];
  readonly children: readonly AxElement[];
}

/** An element. Attributes that are undefined are absent. */
export function element(
  id: string,
  role: string,
  options: {
    readonly identifier?: string | undefined;
    readonly attributes?: Readonly<Record<string, AxValue | undefined>>;
    readonly actions?: readonly string[];
    readonly children?: readonly AxElement[];
  } = {},
): AxElement {
  const attributes = { AXRole: role, AXIdentifier: options.identifier, ...options.attributes };
  const present = Object.entries(attributes).filter(([, value]) => value !== undefined);
  return {
    id,
    attributes: Object.fromEntries(present) as Record<string, AxValue>,
    actions: options.actions ?? [],
    children: options.children ?? [],
  };
}

/** The name of a custom action, as Accessibility reports it. */
export const customAction = (title: string): string => `Name:${title}\nTarget:0x0\nSelector:(null)`;

export function titleOfAction(action: string): string | undefined {
  return /^Name:([^\n]*)\n/.exec(action)?.[1];
}

export function findElement(root: AxElement, id: string): AxElement | undefined {
  if (root.id === id) return root;
  for (const child of root.children) {
    const found = findElement(child, id);
    if (found !== undefined) return found;
  }
  return undefined;
}
