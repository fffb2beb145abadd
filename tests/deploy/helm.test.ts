import { readFileSync, readdirSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { freePort } from '@footbridge/testkit/ports';
import { hasCaddy, startCaddy } from '@footbridge/testkit/servers/caddy';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const CHART = join(import.meta.dirname, '../../deploy/helm/footbridge');
const DEFAULTS = parse(readFileSync(join(CHART, 'values.yaml'), 'utf8'));
const TEMPLATES = readdirSync(join(CHART, 'templates'));
const RELEASE = 'bridge';

const cleanup = createCleanup();
afterAll(() => cleanup.run());

interface Named {
  readonly name: string;
}
interface Rendered {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: object; readonly annotations?: object };
  readonly data?: object;
  // The fields depend on the kind.
  readonly spec: Record<string, never>;
}

let folder: string;
let url: string;
let renders = 0;

/**
 * Renders a template with Caddy, whose `templates` handler uses Go's text/template with the Sprig functions, as Helm does. `.Values` and
 * `.Release` are set as Helm sets them.
 */
async function response(template: string, values: object): Promise<Response> {
  const context = JSON.stringify({ Values: values, Release: { Name: RELEASE } });
  const text = readFileSync(join(CHART, 'templates', template), 'utf8');
  const place = String(renders++);
  await mkdir(join(folder, place));
  await writeFile(
    join(folder, place, 'template.txt'),
    `{{ with (fromJson \`${context}\`) }}\n${text}\n{{ end }}`,
  );
  return fetch(`${url}/${place}/template.txt`);
}

async function render(changes: object): Promise<Map<string, Rendered>> {
  const objects = new Map<string, Rendered>();
  for (const template of TEMPLATES) {
    const rendered = await response(template, { ...DEFAULTS, ...changes });
    const text = await rendered.text();
    expect(rendered.status, `${template}: ${text}`).toBe(200);
    const object = parse(text) as Rendered | null;
    if (object !== null) objects.set(object.kind, object);
  }
  return objects;
}

function of(objects: ReadonlyMap<string, Rendered>, kind: string): Rendered {
  const object = objects.get(kind);
  if (object === undefined) throw new Error(`the chart does not render a ${kind}`);
  return object;
}

describe.skipIf(!(await hasCaddy()))('the rendered chart', () => {
  beforeAll(async () => {
    folder = await tempDir(cleanup);
    const address = `127.0.0.1:${await freePort()}`;
    const file = join(folder, 'Caddyfile');
    await writeFile(
      file,
      `{\n\tadmin off\n}\nhttp://${address} {\n\troot * ${folder}\n\ttemplates\n\tfile_server\n}\n`,
    );
    const caddy = await startCaddy(file, {});
    cleanup.add(() => caddy.stop());
    url = `http://${address}`;
  });

  it('has one pod with a volume by default, and an update stops the old pod before it starts the new one', async () => {
    const objects = await render({});
    expect([...objects.keys()].toSorted()).toEqual([
      'ConfigMap',
      'Deployment',
      'PersistentVolumeClaim',
      'Service',
    ]);
    const claim = of(objects, 'PersistentVolumeClaim');
    expect(claim.spec).toEqual({
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '5Gi' } },
    });
    const { spec } = of(objects, 'Deployment');
    expect(spec).toMatchObject({
      replicas: 1,
      strategy: { type: 'Recreate' },
      template: {
        spec: {
          volumes: [
            { name: 'tmp', emptyDir: { medium: 'Memory' } },
            { name: 'data', persistentVolumeClaim: { claimName: claim.metadata.name } },
          ],
        },
      },
    });
    expect(of(objects, 'ConfigMap').data).toEqual(DEFAULTS.settings);
  });

  it.each([
    ['by default', {}],
    [
      'with every option',
      {
        replicas: 3,
        existingSecret: 'secrets',
        settings: { BASE_URL: 'https://b.example', LOG_LEVEL: 'info', DRAIN_GRACE_SEC: '5' },
        persistence: { enabled: false, size: '1Ti', storageClass: 'fast' },
        ingress: { ...DEFAULTS.ingress, enabled: true },
      },
    ],
  ])('refers only to objects, ports and volumes that exist (%s)', async (_name, changes) => {
    const objects = await render(changes);
    const { spec } = of(objects, 'Deployment');
    const { metadata, spec: pod } = (spec['template'] ?? {}) as {
      metadata: { labels: object };
      spec: {
        containers: [{ ports: Named[]; envFrom: object[]; volumeMounts: Named[] }];
        volumes: Named[];
      };
    };
    const [container] = pod.containers;
    const service = of(objects, 'Service');
    for (const { metadata: own } of objects.values()) expect(own.name).toMatch(/^bridge(-data)?$/);
    expect(spec['selector']).toEqual({ matchLabels: metadata.labels });
    expect(service.spec['selector']).toEqual(metadata.labels);
    expect(service.spec['ports']).toEqual([
      { name: 'public', port: 80, targetPort: 'public' },
      { name: 'operator', port: 4610, targetPort: 'operator' },
    ]);
    expect(container.ports.map(({ name }) => name)).toEqual(['public', 'operator']);
    expect(container.envFrom[0]).toEqual({ configMapRef: { name: of(objects, 'ConfigMap').metadata.name } });
    expect(container.volumeMounts.map(({ name }) => name).toSorted()).toEqual(
      pod.volumes.map(({ name }) => name).toSorted(),
    );
  });

  it('replaces several pods one at a time, behind an ingress and without a volume', async () => {
    const objects = await render({
      replicas: 3,
      existingSecret: 'secrets',
      ingress: { ...DEFAULTS.ingress, enabled: true },
    });
    expect([...objects.keys()].toSorted()).toEqual([
      'ConfigMap',
      'Deployment',
      'Ingress',
      'PodDisruptionBudget',
      'Service',
    ]);
    const { spec } = of(objects, 'Deployment');
    expect(spec).toMatchObject({
      replicas: 3,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      template: {
        spec: {
          containers: [{ envFrom: [{}, { secretRef: { name: 'secrets' } }] }],
          volumes: [{ name: 'tmp' }, { name: 'data', emptyDir: {} }],
        },
      },
    });
    expect(of(objects, 'PodDisruptionBudget').spec).toEqual({
      maxUnavailable: 1,
      selector: spec['selector'],
    });
    expect(of(objects, 'Ingress')).toMatchObject({
      metadata: { annotations: DEFAULTS.ingress.annotations },
      spec: {
        ingressClassName: 'nginx',
        tls: [{ hosts: ['bridge.example.com'], secretName: 'bridge-tls' }],
        rules: [
          {
            host: 'bridge.example.com',
            http: {
              paths: [{ path: '/', backend: { service: { name: RELEASE, port: { name: 'public' } } } }],
            },
          },
        ],
      },
    });
  });

  it('is not rendered for several pods without a shared secret', async () => {
    const { status } = await response('deployment.yaml', { ...DEFAULTS, replicas: 2 });
    expect(status).toBe(500);
  });
});
