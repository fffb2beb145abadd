import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

import { SETTINGS } from '../../packages/service/src/config.ts';

const ROOT = join(import.meta.dirname, '../..');
const DEPLOY = join(ROOT, 'deploy');
const read = (path: string) => readFileSync(join(DEPLOY, path), 'utf8');
const { version } = createRequire(import.meta.url)('../../package.json') as { version: string };
const NAMES = new Set(Object.values(SETTINGS).map(({ name }) => name));

const CHART = 'helm/footbridge';
const templates = () =>
  readdirSync(join(DEPLOY, CHART, 'templates')).map((name) => ({
    name,
    text: read(`${CHART}/templates/${name}`),
  }));

describe('the files in deploy', () => {
  it('name only settings that the service has', () => {
    const compose = ['docker/compose.yml', 'docker/compose.cluster.yml'].flatMap((file) =>
      [...read(file).matchAll(/^ {4,6}([A-Z][A-Z_]+): /gm)].map(([, name = '']) => name),
    );
    const others = [
      ...Object.keys(parse(read(`${CHART}/values.yaml`)).settings),
      ...[...read('hosted/fly.toml').matchAll(/^([A-Z_]+) = /gm)].map(([, name = '']) => name),
      ...[...read('hosted/render.yaml').matchAll(/key: ([A-Z_]+)$/gm)].map(([, name = '']) => name),
      ...[...read('docker/Dockerfile').matchAll(/([A-Z_]+)=[\w./]+/g)].map(([, name = '']) => name),
      ...[...read('systemd/footbridge.service').matchAll(/\b([A-Z_]+)=%/g)].map(([, name = '']) => name),
    ];
    const foreign = new Set(['NODE', 'NODE_ENV', 'BRIDGE_HOST', 'POSTGRES_USER', 'POSTGRES_PASSWORD']);
    const named = [...compose, ...others].map((name) => name.replace(/_FILE$/, ''));
    expect(named.filter((name) => !NAMES.has(name) && !foreign.has(name))).toEqual([]);
    expect(named.filter((name) => NAMES.has(name)).length).toBeGreaterThan(15);
  });

  it.each(['docker/compose.yml', 'docker/compose.cluster.yml', 'hosted/render.yaml'])(
    '%s is valid YAML, and what it mounts exists',
    (file) => {
      const { services } = parse(read(file), { merge: true });
      const mounted = Object.values<{ volumes?: string[] }>(services).flatMap(({ volumes = [] }) => volumes);
      const files = mounted
        .map((volume) => volume.split(':')[0] ?? '')
        .filter((path) => path.startsWith('./'));
      const missing = files.filter((path) => !existsSync(join(DEPLOY, 'docker', path)));
      expect(missing.filter((path) => path !== './certificates')).toEqual([]);
    },
  );

  it('the container keeps everything but its data read-only and has no privileges', () => {
    const { services } = parse(read('docker/compose.cluster.yml'), { merge: true });
    const nodes = Object.entries<Record<string, unknown>>(services).filter(([name]) =>
      name.startsWith('node'),
    );
    expect(nodes).toHaveLength(3);
    for (const [, node] of nodes)
      expect(node).toMatchObject({ read_only: true, cap_drop: ['ALL'], tmpfs: ['/tmp'], init: true });
    expect(read('docker/Dockerfile')).toMatch(/^USER node$/m);
  });

  it('the Dockerfile copies what exists and what .dockerignore lets through', () => {
    const allowed = new Set(
      [...readFileSync(join(ROOT, '.dockerignore'), 'utf8').matchAll(/^!(\S+)$/gm)].map(([, path]) => path),
    );
    const copied = [...read('docker/Dockerfile').matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(
      ([, paths = '']) => paths.split(' '),
    );
    expect(copied.length).toBeGreaterThan(5);
    expect(copied.filter((path) => !existsSync(join(ROOT, path)) || !allowed.has(path))).toEqual([]);
  });

  it('nginx.conf has the block of the manual, with TLS', () => {
    const manual =
      /```nginx\n([\s\S]+?)```/.exec(readFileSync(join(ROOT, 'docs/operate.md'), 'utf8'))?.[1] ?? '';
    const location = /location \/ \{[\s\S]+?\n {2}\}/;
    expect(location.exec(read('docker/nginx.conf'))?.[0]).toBe(location.exec(manual)?.[0]);
  });

  it('the systemd unit allows what the converter and a listener on all addresses need', () => {
    const unit = read('systemd/footbridge.service');
    expect(unit).toMatch(/^RestrictAddressFamilies=.*\bAF_NETLINK\b/m);
    const denied = unit.indexOf('SystemCallFilter=~@privileged @resources');
    expect(unit.indexOf('SystemCallFilter=setpriority')).toBeGreaterThan(denied);
  });

  it('pm2 starts the program of the package and waits until it is ready', () => {
    const { apps } = createRequire(import.meta.url)(join(DEPLOY, 'pm2/ecosystem.config.cjs')) as {
      apps: Record<string, unknown>[];
    };
    expect(apps).toMatchObject([
      { script: 'node_modules/footbridge/service/src/main.js', wait_ready: true, exec_mode: 'fork' },
    ]);
  });
});

describe('the Helm chart', () => {
  const values = parse(read(`${CHART}/values.yaml`));

  it('has the version of the package', () => {
    expect(parse(read(`${CHART}/Chart.yaml`))).toMatchObject({ version, appVersion: version });
    expect(values.image.tag).toBe(version);
  });

  it('has values that its schema accepts, and a schema that rejects typos', () => {
    const ajv = new Ajv();
    addFormats.default(ajv);
    const validate = ajv.compile(JSON.parse(read(`${CHART}/values.schema.json`)));
    expect(validate(values), JSON.stringify(validate.errors)).toBe(true);
    expect(validate({ ...values, replica: 2 })).toBe(false);
    expect(validate({ ...values, settings: { base_url: 'x', BASE_URL: 'x' } })).toBe(false);
  });

  it.each(templates())('$name uses only values that exist, and closes what it opens', ({ text }) => {
    for (const [, path = ''] of text.matchAll(/\.Values\.([\w.]+)/g)) {
      const found = path.split('.').reduce((value, key) => value?.[key], values);
      expect(found, path).toBeDefined();
    }
    const opened = [...text.matchAll(/\{\{-? (?:if|range|with) /g)].length;
    expect([...text.matchAll(/\{\{-? end /g)]).toHaveLength(opened);
  });
});
