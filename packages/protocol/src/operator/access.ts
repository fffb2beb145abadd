import { list, nullable, object, strict } from '../schema.ts';
import { call } from './call.ts';
import { flag, label, locationId, next, page, text, time } from './parts.ts';

const token = {
  id: text,
  label: text,
  readOnly: flag,
  locations: nullable(list(text)),
  createdAt: time,
};

export const createToken = call('POST', '/operator/tokens', {
  summary: 'Create a token for another operator',
  locations: 'none',
  body: strict(
    { label: { ...label, maxLength: 100 } },
    {
      readOnly: flag,
      locations: nullable({ type: 'array', items: locationId, minItems: 1, maxItems: 1000 }),
    },
  ),
  status: 201,
  response: object({ ...token, token: text }),
  secret: true,
  notes: 'The token is shown here only.',
});

export const listTokens = call('GET', '/operator/tokens', {
  summary: 'The tokens',
  locations: 'none',
  query: strict({}, page),
  response: object({ tokens: list(object(token)) }, next),
});

export const removeToken = call('DELETE', '/operator/tokens/:id', {
  summary: 'Remove a token; its sessions end',
  locations: 'none',
  errors: ['NOT_FOUND'],
});
