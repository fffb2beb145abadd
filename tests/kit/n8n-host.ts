import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createContext, runInContext } from 'node:vm';

import { closeHttp, listen } from '@footbridge/testkit/loopback';

export interface Workflow {
  readonly nodes: readonly WorkflowNode[];
  readonly connections: Readonly<Record<string, { main: { node: string; type: string; index: number }[][] }>>;
}

export interface WorkflowNode {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly typeVersion: number;
  readonly position: readonly number[];
  readonly webhookId?: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

interface Item {
  readonly json: Readonly<Record<string, unknown>>;
}

/**
 * Executes the node types that the template uses as n8n documents them: Webhook, Code and Respond to Webhook. Code
 * runs in a context without the globals of Node, and may require only the kit (NODE_FUNCTION_ALLOW_EXTERNAL).
 */
export class N8nHost {
  url = '';
  readonly #workflow: Workflow;
  readonly #env: Readonly<Record<string, string>>;
  readonly #require: NodeJS.Require;
  readonly #staticData = {};
  readonly #server = createServer((request, response) => {
    this.#execute(request, response).catch((error: unknown) => {
      response.writeHead(500).end(String(error));
    });
  });

  /** `project` is the folder where the kit is installed. */
  constructor(workflow: Workflow, project: string, env: Readonly<Record<string, string>>) {
    this.#workflow = workflow;
    this.#env = env;
    this.#require = createRequire(join(project, 'n8n.cjs'));
  }

  /** The address of the workflow's webhooks. */
  async start(): Promise<void> {
    this.url = `http://127.0.0.1:${await listen(this.#server)}/webhook/footbridge`;
  }

  stop(): Promise<void> {
    return closeHttp(this.#server);
  }

  async runCode(
    name: string,
    items: readonly Item[],
    env: Readonly<Record<string, string>> = this.#env,
  ): Promise<Item[]> {
    const { jsCode } = this.#node(name).parameters;
    const context = createContext({
      $input: { all: () => items, first: () => items[0] },
      $env: env,
      $getWorkflowStaticData: () => this.#staticData,
      require: (module: string): unknown => {
        if (module === '@footbridge/kit') return this.#require(module);
        throw new Error(`${module} is not allowed`);
      },
    });
    return (await runInContext(`(async () => {${String(jsCode)}\n})()`, context)) as Item[];
  }

  #node(name: string): WorkflowNode {
    const node = this.#workflow.nodes.find((one) => one.name === name);
    if (node === undefined) throw new Error(`The workflow has no node ${name}.`);
    return node;
  }

  async #execute(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://n8n.invalid');
    for (const webhook of this.#workflow.nodes.filter(({ type }) => type === 'n8n-nodes-base.webhook')) {
      const path = webhookPath(webhook);
      const params = pathParams(`/webhook/${path}`, pathname);
      if (params === undefined || webhook.parameters['httpMethod'] !== request.method) continue;
      const item = {
        headers: request.headers,
        params,
        query: Object.fromEntries(searchParams),
        body: bodyOf(request.headers['content-type'] ?? '', await text(request)),
        webhookUrl: `http://127.0.0.1/webhook/${path}`,
        executionMode: 'production',
      };
      const code = this.#next(webhook.name);
      const [result] = await this.runCode(code, [{ json: item }]);
      this.#respond(this.#next(code), result, response);
      return;
    }
    response.writeHead(404, { 'Content-Type': 'application/json' }).end('{"code":404}');
  }

  #next(name: string): string {
    return this.#workflow.connections[name]?.main[0]?.[0]?.node ?? '';
  }

  #respond(name: string, item: Item | undefined, response: ServerResponse): void {
    const { responseBody, options } = this.#node(name).parameters;
    const { responseCode } = options as { responseCode: string };
    const status = Number(valueOf(responseCode, item));
    response
      .writeHead(status, { 'Content-Type': 'application/json' })
      .end(valueOf(String(responseBody), item));
  }
}

/** n8n puts the id of the webhook before a path with parameters. */
function webhookPath({ webhookId = '', parameters: { path } }: WorkflowNode): string {
  return String(path).includes(':') ? `${webhookId}/${String(path)}` : String(path);
}

function pathParams(template: string, path: string): Record<string, string> | undefined {
  const [wanted, given] = [template.split('/'), path.split('/')];
  if (wanted.length !== given.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const value = decodeURIComponent(given[index] ?? '');
    if (part.startsWith(':')) params[part.slice(1)] = value;
    else if (part !== value) return undefined;
  }
  return params;
}

function bodyOf(contentType: string, body: string): unknown {
  if (contentType.includes('x-www-form-urlencoded')) return Object.fromEntries(new URLSearchParams(body));
  return contentType.includes('json') && body !== '' ? JSON.parse(body) : {};
}

/** Evaluates `={{ … }}` with `$json`, the item that the node received. */
function valueOf(expression: string, item: Item | undefined): string {
  const [, code = ''] = /^=\{\{ (.+) \}\}$/.exec(expression) ?? [];
  return String(runInContext(code, createContext({ $json: item?.json })));
}
