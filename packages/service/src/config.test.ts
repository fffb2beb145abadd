import { globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { SETTINGS, databasesOf, loadConfig } from './config.ts';
import { oauthApp } from './features/oauth/settings.ts';
import { telemetryOf } from './features/tracing/settings.ts';
import { StartError } from './platform/errors.ts';
import { operatorHosts } from './platform/http/settings.ts';

const problemsOf = (env: Record<string, string>): readonly string[] => {
  try {
    loadConfig(env);
    return [];
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    expect(error.exitCode).toBe(3);
    return error.problems;
  }
};

const OAUTH = {
  CRM_OAUTH_ENABLED: 'true',
  CRM_OAUTH_CLIENT_ID: 'app',
  CRM_OAUTH_CLIENT_SECRET: 'secret',
  CRM_OAUTH_TOKEN_URL: 'https://crm.example/oauth/token',
  CRM_OAUTH_ENCRYPTION_KEY: '0123456789abcdef'.repeat(4),
  CRM_OAUTH_REFRESH_THRESHOLD_SEC: '300',
  CRM_OAUTH_DATABASE_URL: 'sqlite:tokens.sqlite',
};

describe('settings', () => {
  it('every table is merged, and no two settings have the same key or name', async () => {
    const files = globSync('**/*settings.ts', { cwd: import.meta.dirname });
    const modules: object[] = await Promise.all(files.map((file) => import(join(import.meta.dirname, file))));
    const declared = modules
      .flatMap((module) => Object.values(module))
      .filter((table) => typeof table === 'object')
      .flatMap((table) => Object.entries<{ name?: string }>(table))
      .filter(([, { name }]) => name !== undefined);
    expect(declared.map(([key]) => key).sort()).toEqual(Object.keys(SETTINGS).sort());
    expect(new Set(declared.map(([, { name }]) => name)).size).toBe(declared.length);
  });

  it('an empty environment is enough', () => {
    const { config } = loadConfig({});
    expect(config.port).toBe(4600);
    expect([...databasesOf(config)]).toEqual([
      ['main', { engine: 'sqlite', file: join('data', 'footbridge.sqlite') }],
    ]);
    expect(config.redisUrl).toBeUndefined();
    expect(oauthApp(config)).toEqual({ state: 'disabled' });
  });

  it('all problems are reported at once, by name', () => {
    expect(problemsOf({ PORT: 'four', LOCATION_CLAIM: 'maybe', MAC_HEARTBEAT_SEC: '0' })).toEqual([
      'PORT must be a whole number from 0 to 65535',
      'MAC_HEARTBEAT_SEC must be a whole number from 1 to 300',
      'LOCATION_CLAIM must be one of auto, first, operator',
    ]);
  });

  it.each([
    [{ CRM_HOSTNAME: 'http://crm.example' }, /^CRM_HOSTNAME must be an https: address/],
    [{ CRM_OAUTH_TOKEN_URL: 'http://crm.example/token' }, /^CRM_OAUTH_TOKEN_URL must be an https: address/],
    [{ OPERATOR_TOKEN: 'a'.repeat(40) }, /^OPERATOR_TOKEN is easily guessed/],
    [{ OPERATOR_TOKEN: 'change-me-password-1234' }, /^OPERATOR_TOKEN is easily guessed/],
    [{ NODE_SECRET: '0'.repeat(32) }, /^NODE_SECRET is easily guessed/],
    [{ CRM_OAUTH_ENCRYPTION_KEY: '0'.repeat(64) }, /^CRM_OAUTH_ENCRYPTION_KEY is easily guessed/],
  ])('T55 %j is refused unless it is allowed', (env, problem) => {
    expect(problemsOf(env)).toEqual([expect.stringMatching(problem)]);
    expect(problemsOf({ ...env, ALLOW_INSECURE: 'true' })).toEqual([]);
  });

  it('T55 http: addresses and simple secrets are accepted on the machine itself', () => {
    const OPERATOR_TOKEN = 'a'.repeat(16);
    expect(problemsOf({ HOST: '127.0.0.1', OPERATOR_TOKEN, CRM_HOSTNAME: 'http://127.0.0.1:4000' })).toEqual(
      [],
    );
  });

  it('T71 the operator listener is called by the host of BASE_URL and by those of ADMIN_ALLOWED_HOSTS', () => {
    const hostsOf = (env: Record<string, string>) => operatorHosts(loadConfig(env).config);
    expect(hostsOf({})).toEqual([]);
    expect(
      hostsOf({ BASE_URL: 'https://bridge.example.com:8443/a', ADMIN_ALLOWED_HOSTS: 'a.example, b.example' }),
    ).toEqual(['bridge.example.com', 'a.example', 'b.example']);
    for (const value of ['*', 'a.example:4610', 'https://a.example', 'a.example,'])
      expect(problemsOf({ ADMIN_ALLOWED_HOSTS: value })).toEqual([
        expect.stringContaining('must be a list of host names without ports'),
      ]);
  });

  it('Redis with SQLite requires NODE_SECRET, which only the nodes know', () => {
    const redis = { REDIS_URL: 'redis://:password@127.0.0.1' };
    expect(problemsOf(redis)).toEqual([
      expect.stringMatching(/^NODE_SECRET is required .* set it to the same random text .* on every node/),
    ]);
    expect(problemsOf({ ...redis, NODE_SECRET: 'sixteen or more characters' })).toEqual([]);
    expect(problemsOf({ ...redis, DATABASE_URL: 'postgres://127.0.0.1/footbridge' })).toEqual([]);
  });

  it('a problem never shows the value of a secret', () => {
    expect(problemsOf({ CRM_OAUTH_ENCRYPTION_KEY: 'canary-canary' }).join()).not.toContain('canary');
  });

  it.each([
    ['64 hex digits', 'ab'.repeat(32)],
    ['base64', Buffer.alloc(32, 7).toString('base64')],
    ['32 characters', 'k'.repeat(32)],
    ['two keys, newest first', `${'ab'.repeat(32)},${'k'.repeat(32)}`],
  ])('an encryption key may be %s', (_form, key) => {
    const { config } = loadConfig({ ...OAUTH, CRM_OAUTH_ENCRYPTION_KEY: key, ALLOW_INSECURE: 'true' });
    expect(config.oauthEncryptionKeys?.every((one) => one.length === 32)).toBe(true);
  });

  it('O6 a key that is not 32 bytes stops the start', () => {
    expect(problemsOf({ ...OAUTH, CRM_OAUTH_ENCRYPTION_KEY: 'short' })[0]).toMatch(
      /CRM_OAUTH_ENCRYPTION_KEY must be 32 bytes/,
    );
  });

  it.each(Object.keys(OAUTH).filter((name) => name !== 'CRM_OAUTH_ENABLED'))(
    'O3 without %s OAuth is incomplete, which is not a start error',
    (name) => {
      const { config } = loadConfig({ ...OAUTH, [name]: '' });
      expect(oauthApp(config)).toEqual({ state: 'incomplete', missing: [name] });
    },
  );

  it('O3 a threshold that is not numeric counts as missing', () => {
    const { config } = loadConfig({ ...OAUTH, CRM_OAUTH_REFRESH_THRESHOLD_SEC: 'soon' });
    expect(oauthApp(config)).toEqual({ state: 'incomplete', missing: ['CRM_OAUTH_REFRESH_THRESHOLD_SEC'] });
  });

  it('O3 DATABASE_URL replaces CRM_OAUTH_DATABASE_URL, and missing settings cause a warning', () => {
    const without = { ...OAUTH, CRM_OAUTH_DATABASE_URL: '' };
    const { config, warnings } = loadConfig({ ...without, DATABASE_URL: 'sqlite:main.sqlite' });
    expect(oauthApp(config)).toMatchObject({ state: 'ready', database: undefined });
    expect(warnings).toEqual([]);
    const separate = { engine: 'sqlite', file: 'tokens.sqlite' };
    expect(oauthApp(loadConfig(OAUTH).config)).toMatchObject({ database: separate });
    expect(databasesOf(loadConfig(OAUTH).config).get('oauth')).toEqual(separate);
    const sameFile = loadConfig({
      ...OAUTH,
      CRM_OAUTH_DATABASE_URL: 'sqlite:./data/../data/footbridge.sqlite',
    });
    expect(oauthApp(sameFile.config)).toMatchObject({ state: 'ready', database: undefined });
    expect(loadConfig(without).warnings).toEqual([
      'OAuth is enabled, but CRM_OAUTH_DATABASE_URL is missing: the app cannot be installed, and no statuses are sent',
    ]);
  });

  it('O2 anything but exactly true leaves OAuth off', () => {
    for (const value of ['TRUE', '1', 'yes', 'false', ''])
      expect(oauthApp(loadConfig({ ...OAUTH, CRM_OAUTH_ENABLED: value }).config).state).toBe('disabled');
  });

  it.each([
    ['crm.example', 'https://crm.example'],
    ['https://crm.example/', 'https://crm.example'],
    ['http://127.0.0.1:4620', 'http://127.0.0.1:4620'],
    ['127.0.0.1:4620', 'http://127.0.0.1:4620'],
    ['localhost:4620', 'http://localhost:4620'],
  ])('CRM_HOSTNAME %s means %s', (given, meant) => {
    expect(loadConfig({ CRM_HOSTNAME: given }).config.crmHost).toBe(meant);
  });

  it('warns when only some settings of an added channel are present', () => {
    const ID = { CRM_CONVERSATION_PROVIDER_ID: '5f0e1d2c3b4a596877665544' };
    const named = (env: Record<string, string>) =>
      loadConfig(env).warnings.map((warning) => warning.split(':')[0]);
    expect(named({ ...ID, CRM_INBOUND_TYPE: 'Custom', CRM_ACCEPTED_TYPES: 'SMS,Custom' })).toEqual([]);
    expect(named({ CRM_INBOUND_TYPE: 'Custom' })).toEqual([
      'CRM_INBOUND_TYPE is Custom without CRM_CONVERSATION_PROVIDER_ID',
    ]);
    expect(named(ID)).toEqual([
      'CRM_CONVERSATION_PROVIDER_ID is set, but CRM_ACCEPTED_TYPES has no Custom',
      'CRM_CONVERSATION_PROVIDER_ID is set, but CRM_INBOUND_TYPE is SMS',
    ]);
  });

  it.each<[given: string, fields: [location: string, id: string][]]>([
    ['6dvNaf7VhkQ9snc5vnjJ', [['*', '6dvNaf7VhkQ9snc5vnjJ']]],
    [
      'loc1=a1, loc2=b2',
      [
        ['loc1', 'a1'],
        ['loc2', 'b2'],
      ],
    ],
  ])('CRM_REACH_FIELD_ID %s names fields by location', (given, fields) => {
    expect([...(loadConfig({ CRM_REACH_FIELD_ID: given }).config.reachFields ?? [])]).toEqual(fields);
  });

  it.each(['contact.reach', 'loc1=', '=id', 'loc1=a=b', 'a,b'])(
    'CRM_REACH_FIELD_ID %j is rejected',
    (given) => {
      expect(problemsOf({ CRM_REACH_FIELD_ID: given })).toEqual([
        'CRM_REACH_FIELD_ID must be the id of a custom field, or a list such as loc1=id1,loc2=id2',
      ]);
    },
  );

  it('a secret can come from a file, and the summary shows only where it came from', () => {
    const folder = mkdtempSync(join(tmpdir(), 'footbridge-'));
    writeFileSync(join(folder, 'token'), 'canary-0123456789abcdef\n');
    const { config, summary } = loadConfig({ OPERATOR_TOKEN_FILE: join(folder, 'token'), PORT: '0' });
    expect(config.operatorToken).toBe('canary-0123456789abcdef');
    expect(summary).toEqual({ PORT: 'set', OPERATOR_TOKEN: 'file' });
    expect(problemsOf({ OPERATOR_TOKEN_FILE: join(folder, 'nothing') })).toEqual([
      'OPERATOR_TOKEN_FILE names a file that cannot be read; check that it is a regular file, its path and its permissions',
    ]);
    rmSync(folder, { recursive: true });
  });

  it('an unknown name that looks like a setting causes a warning with a suggestion', () => {
    expect(loadConfig({ CRM_HOSTNAM: 'x', CRM_SOMETHING_ELSE_ENTIRELY: 'x' }).warnings).toEqual([
      'CRM_HOSTNAM is not a setting; did you mean CRM_HOSTNAME?',
      'CRM_SOMETHING_ELSE_ENTIRELY is not a setting',
    ]);
  });

  it('a setting that has no effect without another one causes a warning', () => {
    expect(
      loadConfig({ CRM_OAUTH_CLIENT_ID: 'app', CRM_OAUTH_TOKEN_URL: 'https://a.example' }).warnings,
    ).toEqual(['CRM_OAUTH_CLIENT_ID, CRM_OAUTH_TOKEN_URL have no effect without CRM_OAUTH_ENABLED=true']);
    expect(loadConfig({ ASSET_S3_REGION: 'eu' }).warnings).toEqual([
      'ASSET_S3_REGION has no effect without ASSET_STORE=s3',
    ]);
    expect(loadConfig({ NODE_SECRET: 'sixteen or more characters' }).warnings).toEqual([
      'NODE_SECRET has no effect without REDIS_URL',
    ]);
    expect(loadConfig({ ALERT_REMINDER_HOURS: '4' }).warnings).toHaveLength(1);
    expect(
      loadConfig({ ALERT_REMINDER_HOURS: '4', ALERT_SLACK_URL: 'https://hooks.example.com' }).warnings,
    ).toEqual([]);
  });

  it('REDIS_URL causes a warning for each kind of data that the nodes do not share', () => {
    const nodes = { REDIS_URL: 'redis://127.0.0.1', DATABASE_URL: 'postgres://127.0.0.1/footbridge' };
    expect(loadConfig(nodes).warnings).toEqual([
      expect.stringMatching(/^REDIS_URL is set without CRM_OAUTH_ENCRYPTION_KEY: .*opt-outs/),
      expect.stringMatching(/^REDIS_URL is set with ASSET_STORE=disk: .*attachments/),
    ]);
    const shared = {
      CRM_OAUTH_ENCRYPTION_KEY: '0123456789abcdef'.repeat(4),
      ASSET_STORE: 's3',
      ASSET_S3_ENDPOINT: 'https://s3.example.com/bucket',
      ASSET_S3_ACCESS_KEY_ID: 'id',
      ASSET_S3_SECRET_ACCESS_KEY: 'secret',
    };
    expect(loadConfig({ ...nodes, ...shared }).warnings).toEqual([]);
  });

  it('both listeners on one port are a problem unless their addresses differ', () => {
    const same = ['ADMIN_PORT must differ from PORT: both listeners would use the same address'];
    expect(problemsOf({ ADMIN_PORT: '4600' })).toEqual(same);
    expect(problemsOf({ ADMIN_PORT: '4600', HOST: '127.0.0.1' })).toEqual(same);
    expect(problemsOf({ ADMIN_PORT: '4600', HOST: '127.0.0.2' })).toEqual([]);
    expect(problemsOf({ ADMIN_PORT: '0', PORT: '0' })).toEqual([]);
  });

  it('a public key may have escaped line breaks', () => {
    const { config } = loadConfig({
      CRM_PUBLIC_KEY: String.raw`-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----`,
    });
    expect(config.publicKey?.split('\n')).toHaveLength(3);
  });

  it('private tokens are given as JSON or as a list', () => {
    const expected = new Map([
      ['loc1', 'pit-1'],
      ['loc2', 'pit-2'],
    ]);
    expect(loadConfig({ CRM_PIT_TOKENS: '{"loc1":"pit-1","loc2":"pit-2"}' }).config.pitTokens).toEqual(
      expected,
    );
    expect(loadConfig({ CRM_PIT_TOKENS: 'loc1=pit-1, loc2=pit-2' }).config.pitTokens).toEqual(expected);
    expect(problemsOf({ CRM_PIT_TOKENS: '{"loc1":1}' })).toHaveLength(1);
  });

  it.each([
    ['CRM_PIT_TOKEN', 'pit-T0PSECRET…'],
    ['CRM_PIT_TOKEN', 'Bearer pit-T0PSECRET'],
    ['CRM_PIT_TOKENS', 'loc1=pit-T0PSECRET…'],
    ['CRM_PIT_TOKENS', 'loc1=pit-1,loc2=pit-\u200bT0PSECRET'],
    ['CRM_PIT_TOKENS', '{"loc1":"pit-T0PSECRET\\n"}'],
  ])('O10 %s=%j is reported as not a token, without its text', (name, value) => {
    const problems = problemsOf({ [name]: value });
    expect(problems).toEqual([expect.stringMatching(new RegExp(`^${name} must be the token itself`))]);
    expect(problems.join()).not.toContain('T0PSECRET');
  });

  it('proxy settings are read in lower case first, then in upper case, and http:// is added', () => {
    const { config } = loadConfig({
      HTTPS_PROXY: 'http://upper.example:3128',
      https_proxy: 'lower.example:3128',
      HTTP_PROXY: 'https://user:p%40ss@upper.example',
      http_proxy: '',
      NO_PROXY: 'a.example,b.example',
    });
    expect(config).toMatchObject({
      httpsProxy: 'http://lower.example:3128/',
      httpProxy: 'https://user:p%40ss@upper.example/',
      noProxy: 'a.example,b.example',
    });
    const { httpsProxy, httpProxy, noProxy } = loadConfig({}).config;
    expect([httpsProxy, httpProxy, noProxy]).toEqual([undefined, undefined, undefined]);
  });

  it('the credentials of a proxy appear neither in the summary nor in problems', () => {
    const { summary, warnings } = loadConfig({ https_proxy: 'http://user:canary@proxy.example:3128' });
    expect(summary).toEqual({ HTTPS_PROXY: 'set' });
    expect(warnings).toEqual([]);
    for (const value of [
      'socks5://user:canary@proxy.example',
      'http://user:canary@proxy.example/path',
      'http://user:canary%zz@proxy.example',
      'http://user:canary@proxy.example:port',
    ]) {
      const problems = problemsOf({ HTTPS_PROXY: value });
      expect(problems).toEqual([expect.stringMatching(/^HTTPS_PROXY must /)]);
      expect(problems.join()).not.toContain('canary');
    }
  });
});

describe('alerts', () => {
  const SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;

  it('are off by default', () => {
    const { config } = loadConfig({});
    const { alertWebhookUrl, alertSlackUrl, alertTeamsUrl, alertSmtpUrl, alertQuietHours } = config;
    expect([alertWebhookUrl, alertSlackUrl, alertTeamsUrl, alertSmtpUrl, alertQuietHours]).toEqual(
      Array.from({ length: 5 }),
    );
    expect(config).toMatchObject({ alertReminderMs: 86_400_000, alertAllowPrivate: false });
  });

  it('read their receivers, quiet hours and reminders', () => {
    const { config } = loadConfig({
      ALERT_WEBHOOK_URL: 'https://hooks.example.com/a',
      ALERT_WEBHOOK_SECRET: SECRET,
      ALERT_SMTP_URL: 'smtps://user:pass%40word@mail.example.com',
      ALERT_EMAIL_FROM: 'footbridge@example.com',
      ALERT_EMAIL_TO: 'one@example.com, two@example.com',
      ALERT_QUIET_HOURS: '22:30-07:00 Europe/Berlin',
      ALERT_REMINDER_HOURS: '0',
    });
    expect(config).toMatchObject({
      alertWebhookSecret: Buffer.alloc(32, 1),
      alertEmailTo: ['one@example.com', 'two@example.com'],
      alertQuietHours: { from: 1350, until: 420, timeZone: 'Europe/Berlin' },
      alertReminderMs: null,
    });
  });

  it.each([
    ['ALERT_SLACK_URL', 'ftp://example.com/T0PSECRET'],
    ['ALERT_SLACK_URL', 'http://example.com/T0PSECRET'],
    ['ALERT_TEAMS_URL', 'https://user:T0PSECRET@example.com'],
    ['ALERT_WEBHOOK_SECRET', 'T0PSECRET'],
    ['ALERT_SMTP_URL', 'mail.example.com/T0PSECRET'],
    ['ALERT_SMTP_URL', 'smtp://user:T0PSECRET%@mail.example.com'],
    ['ALERT_EMAIL_TO', 'Ops <ops@example.com>'],
    ['ALERT_QUIET_HOURS', '22-7'],
    ['ALERT_QUIET_HOURS', '22:00-07:00 Mars/Olympus'],
    ['ALERT_QUIET_HOURS', '07:00-07:00'],
  ])('%s=%s is reported by name, without a secret', (name, value) => {
    const problems = problemsOf({ [name]: value });
    expect(problems[0]).toContain(name);
    expect(problems.join()).not.toContain('T0PSECRET');
  });

  it('name the settings that belong together', () => {
    expect(problemsOf({ ALERT_WEBHOOK_URL: 'https://example.com' })).toEqual([
      'ALERT_WEBHOOK_SECRET is required with ALERT_WEBHOOK_URL',
    ]);
    expect(problemsOf({ ALERT_SMTP_URL: 'smtp://mail.example.com' })).toEqual([
      'ALERT_EMAIL_FROM is required with ALERT_SMTP_URL',
      'ALERT_EMAIL_TO is required with ALERT_SMTP_URL',
    ]);
  });
});

describe('telemetry', () => {
  const telemetryFrom = (env: Record<string, string>) => telemetryOf(loadConfig(env).config);

  it('is off without an endpoint', () => {
    expect(telemetryFrom({})).toMatchObject({ traces: undefined, metrics: undefined });
  });

  it('uses the base address of a collector, or the address for one signal', () => {
    const base = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.example:4318/base/' };
    expect(telemetryFrom(base)).toMatchObject({
      traces: { url: 'http://collector.example:4318/base/v1/traces', ratio: 1, followsCaller: true },
      metrics: { url: 'http://collector.example:4318/base/v1/metrics', intervalMs: 60_000 },
      serviceName: 'footbridge',
    });
    const traces = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://collector.example/t' };
    expect(telemetryFrom(traces)).toMatchObject({
      traces: { url: 'https://collector.example/t' },
      metrics: undefined,
    });
    const telemetry = telemetryFrom({ ...base, ...traces, OTEL_TRACES_EXPORTER: 'none' });
    expect(telemetry.traces).toBeUndefined();
    expect(telemetry.metrics).toBeDefined();
  });

  it.each([
    ['always_on', 1, false],
    ['always_off', 0, false],
    ['traceidratio', 0.1, false],
    ['parentbased_always_off', 0, true],
    ['parentbased_traceidratio', 0.1, true],
  ])('reads the sampler %s', (sampler, ratio, followsCaller) => {
    const { traces } = telemetryFrom({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318',
      OTEL_TRACES_SAMPLER: sampler,
      OTEL_TRACES_SAMPLER_ARG: '0.1',
    });
    expect(traces).toMatchObject({ ratio, followsCaller });
  });

  it('decodes percent-encoded headers and attributes', () => {
    const { headers, resource } = telemetryFrom({
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20abc, x-team = ops ',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    });
    expect(headers).toEqual({ authorization: 'Bearer abc', 'x-team': 'ops' });
    expect(resource).toEqual({ 'deployment.environment.name': 'test' });
  });

  it('rejects invalid values without quoting secrets', () => {
    expect(
      problemsOf({
        OTEL_EXPORTER_OTLP_HEADERS: 'secret',
        OTEL_TRACES_SAMPLER: 'some',
        OTEL_TRACES_SAMPLER_ARG: '1.5',
      }),
    ).toEqual([
      'OTEL_EXPORTER_OTLP_HEADERS must be a list such as name=value,name=value, percent-encoded',
      expect.stringContaining('OTEL_TRACES_SAMPLER must be one of always_on, always_off, traceidratio'),
      'OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1',
    ]);
  });
});
