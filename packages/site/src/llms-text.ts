import type { Page } from './contents.ts';

const INTRODUCTION = `# Footbridge

> A bridge between a CRM (HighLevel, or your own) and the Macs that send and receive its iMessage and SMS.

Nothing has been verified on a Mac or with the real CRM; the pages say which parts are simulated. All pages in one file: [llms-full.txt](llms-full.txt). The HTTP API as OpenAPI: [openapi.json](openapi.json). The Mac channel as AsyncAPI: [asyncapi.json](asyncapi.json).
`;

/** The list of pages for language models, in the format of llmstxt.org. */
export function llmsText(contents: Readonly<Record<string, readonly Page[]>>): string {
  const groups = Object.entries(contents).map(
    ([group, pages]) =>
      `## ${group}\n\n${pages.map(({ name, title }) => `- [${title}](${name}.md)`).join('\n')}\n`,
  );
  return [INTRODUCTION, ...groups].join('\n');
}

/** All pages in one file. */
export function llmsFullText(pages: readonly Page[], markdownOf: (page: Page) => string): string {
  return [
    INTRODUCTION,
    ...pages.map((page) => `---\nsource: ${page.name}.md\n---\n\n${markdownOf(page)}`),
  ].join('\n');
}
