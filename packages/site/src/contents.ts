/** A page of the site, and its source file in the repository. */
export interface Page {
  readonly source: string;
  /** The name of its files, without an extension. */
  readonly name: string;
  readonly title: string;
}

const page = (source: string, title: string, name?: string): Page => ({
  source,
  name: name ?? source.replace(/^docs\//, '').replace(/\.md$/, ''),
  title,
});

/** The pages in the order of the menu. */
export const CONTENTS: Readonly<Record<string, readonly Page[]>> = {
  Start: [
    page('docs/index.md', 'What it is'),
    page('docs/five-minutes.md', 'Five minutes'),
    page('docs/concepts.md', 'Concepts'),
  ],
  CRM: [
    page('docs/crm.md', 'Integrate a CRM'),
    page('docs/highlevel.md', 'HighLevel, screen by screen'),
    page('docs/attachments.md', 'Attachments'),
    page('packages/kit/README.md', 'The kit', 'kit'),
    page('packages/kit/templates/README.md', 'Receiver templates', 'kit-templates'),
    page('packages/kit/vectors/README.md', 'Test vectors', 'kit-vectors'),
    page('docs/recipes.md', 'Recipes'),
  ],
  Macs: [
    page('docs/mac.md', 'Set up a Mac'),
    page('docs/macs.md', 'Licenses, devices, locations'),
    page('docs/agent.md', 'The agent'),
    page('docs/bluebubbles.md', 'BlueBubbles'),
    page('docs/mac-verified.md', 'Verified on a Mac'),
  ],
  Operate: [
    page('docs/deploy.md', 'Deploy'),
    page('docs/operate.md', 'Operate'),
    page('docs/observe.md', 'Observe'),
    page('docs/runbooks.md', 'Runbooks'),
    page('docs/releases.md', 'Releases'),
    page('docs/performance.md', 'Performance'),
    page('docs/experiments.md', 'Experiments'),
    page('docs/scale.md', 'Scale'),
  ],
  'Promises and security': [
    page('docs/promises.md', 'Promises'),
    page('docs/contract.md', 'The contract'),
    page('SECURITY.md', 'Security', 'security'),
    page('docs/security.md', 'Budgets', 'budgets'),
  ],
  Reference: [
    page('docs/api.md', 'HTTP API'),
    page('docs/wire.md', 'Mac channel'),
    page('docs/errors.md', 'Error codes'),
    page('docs/configuration.md', 'Settings'),
    page('docs/cli.md', 'Command line'),
    page('docs/metrics.md', 'Metrics'),
  ],
  Project: [
    page('ARCHITECTURE.md', 'Architecture', 'architecture'),
    page('CONTRIBUTING.md', 'Contributing', 'contributing'),
    page('docs/style.md', 'Style'),
    page('CHANGELOG.md', 'Changes', 'changes'),
  ],
};

export const PAGES: readonly Page[] = Object.values(CONTENTS).flat();

/** Files of the repository that pages link to or embed, with their names in the site. */
export const FILES: Readonly<Record<string, string>> = {
  '.env.example': 'env.example.txt',
  'THIRD-PARTY-NOTICES': 'third-party-notices.txt',
  'docs/demo-dark.png': 'demo-dark.png',
  'docs/demo-light.png': 'demo-light.png',
  'packages/media/NOTICE.md': 'media-notice.txt',
};
