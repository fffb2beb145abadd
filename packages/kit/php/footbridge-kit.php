<?php

/**
 * Footbridge for CRM integrators: sign and verify webhooks, read and write footers.
 *
 * One file, PHP 8.1 or newer with the sodium and openssl extensions. Copy it into your project.
 */

declare(strict_types=1);

namespace Footbridge;

const SIGNATURE_HEADERS = ['Ed25519' => 'X-CRM-Signature', 'RSA-SHA256' => 'X-WH-Signature'];
const MIN_RSA_BITS = 2048;

/**
 * Signs the exact bytes of a body with a private key: PEM, PKCS#8, unencrypted, Ed25519 or RSA. Send exactly this body.
 *
 * @return array{body: string, headers: array<string, string>}
 */
function sign_webhook(string $body, string $privateKey, ?string $header = null): array
{
    [$scheme, $key] = read_key($privateKey, 'PRIVATE KEY');
    if ($scheme === 'Ed25519') {
        $pair = sodium_crypto_sign_seed_keypair($key);
        $signature = sodium_crypto_sign_detached($body, sodium_crypto_sign_secretkey($pair));
    } else {
        openssl_sign($body, $signature, $key, OPENSSL_ALGO_SHA256);
    }
    $name = $header ?? SIGNATURE_HEADERS[$scheme];
    return ['body' => $body, 'headers' => ['Content-Type' => 'application/json', $name => base64_encode($signature)]];
}

/**
 * Verifies a signature over the raw bytes, in strict base64, with the header and scheme of each key. The legacy header
 * X-WH-Signature is used only if every other header is absent. The reason is for your log: respond with 401 and no details.
 *
 * @param array<string, string|list<string>> $headers
 * @param list<array{publicKey: string, scheme: string, header?: string}> $trusted
 * @return array{ok: bool, key: ?array<string, string>, reason: ?string}
 */
function verify_webhook(string $body, array $headers, array $trusted): array
{
    $legacy = SIGNATURE_HEADERS['RSA-SHA256'];
    $names = [SIGNATURE_HEADERS['Ed25519'], ...array_map(header_of(...), $trusted), $legacy];
    usort($names, fn (string $a, string $b) => (strcasecmp($a, $legacy) === 0) <=> (strcasecmp($b, $legacy) === 0));
    $present = array_values(array_filter($names, fn (string $name) => header_values($headers, $name) !== []));
    if ($present === []) {
        return ['ok' => false, 'key' => null, 'reason' => 'the request has no signature header'];
    }
    $values = header_values($headers, $present[0]);
    $signature = count($values) === 1 ? decode_base64($values[0]) : null;
    if ($signature === null) {
        $reason = 'the signature header is not a single value in strict base64';
        return ['ok' => false, 'key' => null, 'reason' => $reason];
    }
    foreach ($trusted as $key) {
        if (strcasecmp(header_of($key), $present[0]) === 0 && is_signed_by($key, $signature, $body)) {
            return ['ok' => true, 'key' => $key, 'reason' => null];
        }
    }
    $reason = 'the signature does not match the body under any trusted key';
    return ['ok' => false, 'key' => null, 'reason' => $reason];
}

function header_of(array $key): string
{
    return $key['header'] ?? SIGNATURE_HEADERS[$key['scheme']];
}

/** @return list<string> */
function header_values(array $headers, string $name): array
{
    $values = [];
    foreach ($headers as $key => $value) {
        if (strcasecmp((string) $key, $name) === 0) {
            array_push($values, ...(array) $value);
        }
    }
    return $values;
}

function is_signed_by(array $trusted, string $signature, string $body): bool
{
    [$scheme, $key] = read_key($trusted['publicKey'], 'PUBLIC KEY');
    if ($scheme !== $trusted['scheme']) {
        throw new \InvalidArgumentException("A trusted key has scheme {$trusted['scheme']}, but its type is $scheme.");
    }
    if ($scheme === 'RSA-SHA256') {
        return openssl_verify($body, $signature, $key, OPENSSL_ALGO_SHA256) === 1;
    }
    return strlen($signature) === SODIUM_CRYPTO_SIGN_BYTES
        && sodium_crypto_sign_verify_detached($signature, $body, $key);
}

/** Decodes base64. Returns null unless the text is the canonical encoding. */
function decode_base64(string $text): ?string
{
    $raw = base64_decode($text, true);
    return $raw !== false && base64_encode($raw) === $text ? $raw : null;
}

/** The DER prefixes before the 32 bytes of an Ed25519 key. */
const ED25519_DER = [
    'PRIVATE KEY' => '302e020100300506032b657004220420',
    'PUBLIC KEY' => '302a300506032b6570032100',
];

/** @return array{string, string|\OpenSSLAsymmetricKey} the scheme, and the bytes of an Ed25519 key or an OpenSSL key */
function read_key(string $pem, string $label): array
{
    $text = trim(str_replace('\n', "\n", $pem));
    [$begin, $end] = ["-----BEGIN $label-----", "-----END $label-----"];
    $isPem = str_starts_with($text, $begin) && str_ends_with($text, $end);
    $content = substr($text, strlen($begin), -strlen($end));
    $der = $isPem ? decode_base64(preg_replace('/\s/', '', $content)) : null;
    if ($der === null) {
        $name = strtolower($label);
        throw new \InvalidArgumentException("This is not a $name in PEM format. It must start with $begin.");
    }
    $prefix = hex2bin(ED25519_DER[$label]);
    if (str_starts_with($der, $prefix) && strlen($der) === strlen($prefix) + 32) {
        return ['Ed25519', substr($der, strlen($prefix))];
    }
    $key = $label === 'PRIVATE KEY' ? openssl_pkey_get_private($text) : openssl_pkey_get_public($text);
    $details = $key === false ? false : openssl_pkey_get_details($key);
    if ($details === false || $details['type'] !== OPENSSL_KEYTYPE_RSA) {
        throw new \InvalidArgumentException('The PEM contains neither an Ed25519 nor an RSA key.');
    }
    if ($details['bits'] < MIN_RSA_BITS) {
        throw new \InvalidArgumentException('An RSA key must have at least ' . MIN_RSA_BITS . ' bits. Prefer Ed25519.');
    }
    return ['RSA-SHA256', $key];
}

const VERSION = '1';
const CLOSING = '-- end svc-metadata --';
const OPENING = '-- svc-metadata:v';
const OPENING_END = ' --';
const NAME = 'svc-metadata';
const SENTINEL = '[[SVMD:';
const SENTINEL_END = ']]';
const JOINED_REACH = 80;
/** White space as JavaScript defines it, which differs from PHP's definition. */
const SPACES = [
    "\t", "\n", "\v", "\f", "\r", ' ', "\u{a0}", "\u{1680}", "\u{2000}", "\u{2001}", "\u{2002}", "\u{2003}", "\u{2004}",
    "\u{2005}", "\u{2006}", "\u{2007}", "\u{2008}", "\u{2009}", "\u{200a}", "\u{2028}", "\u{2029}", "\u{202f}", "\u{205f}",
    "\u{3000}", "\u{feff}",
];
const SPACE = '(?:[\t\n\x0b\x0c\r ]|\xc2\xa0|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80|\xef\xbb\xbf)';

/**
 * Returns the text of a message without its footer, and the metadata of the footer. `problem` says why a footer is
 * unreadable. Never throws.
 *
 * @return array{text: string, metadata: ?array<string, mixed>, form: ?string, problem: ?string}
 */
function parse_footer(string $message): array
{
    $parts = find_parts($message);
    $last = -1;
    foreach ($parts as $index => $part) {
        if (is_footer($part) && $part['version'] === VERSION) {
            $last = $index;
        }
    }
    foreach (array_slice($parts, $last + 1) as $part) {
        if (!is_footer($part)) {
            return without_metadata(readable_text($message, $parts), $part['problem']);
        }
    }
    if ($last < 0) {
        return without_metadata(cut($message, $parts), null);
    }
    [$metadata, $problem, $isMerged] = read_payload($parts[$last]);
    if ($problem !== null) {
        return without_metadata(readable_text($message, $parts), $problem);
    }
    $first = $isMerged ? start_of_run($message, $parts, $last) : $last;
    $text = cut($message, array_values(array_filter(array_slice($parts, $first), is_footer(...))));
    return ['text' => $text, 'metadata' => $metadata, 'form' => $parts[$last]['form'], 'problem' => null];
}

/** Returns the message without its footer. */
function strip_footer(string $message): string
{
    return parse_footer($message)['text'];
}

/** Returns a message with a footer. `parse_footer` returns the same text and metadata, whatever the text contains. */
function make_footer(array|object $metadata, string $text = '', string $form = 'block'): string
{
    $flags = JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES | JSON_THROW_ON_ERROR;
    $json = json_encode($metadata === [] ? new \stdClass() : $metadata, $flags);
    $message = append($text, $json, $form);
    return strip_footer($message) === $text ? $message : append($text, " $json", $form);
}

function append(string $text, string $json, string $form): string
{
    $footer = $form === 'block'
        ? OPENING . VERSION . OPENING_END . "\n$json\n" . CLOSING
        : SENTINEL . 'v' . VERSION . ':' . base64_encode($json) . SENTINEL_END;
    // A text that ends in \r needs a complete \r\n, since the parser removes one line break.
    $separator = $text === '' ? '' : (str_ends_with($text, "\r") ? "\r\n" : "\n");
    return $text . $separator . $footer;
}

function is_footer(array $part): bool
{
    return !isset($part['problem']);
}

/** Returns the footers of a message, and the fragments of footers, which have a problem. */
function find_parts(string $message): array
{
    $parts = [];
    $opened = null;
    foreach (candidate_lines($message) as $line) {
        $version = opened_version($line['text']);
        if ($version !== null) {
            $opened = [$line, $version, count($parts)];
            $parts[] = ['start' => $line['start'], 'problem' => 'the footer is never closed'];
        } elseif ($opened !== null && $line['text'] === CLOSING) {
            [$opening, $version, $index] = $opened;
            // The block replaces the fragment of its opening line and any parts found in its payload.
            array_splice($parts, $index);
            $payload = substr($message, $opening['next'], $line['start'] - $opening['next']);
            $parts[] = footer($opening['start'], $line['next'], 'block', $version, $payload);
            $opened = null;
        } else {
            array_push($parts, ...parts_within($message, $line));
        }
    }
    $tail = truncated_start($message);
    return $tail === null ? $parts : [...$parts, $tail];
}

function footer(int $start, int $end, string $form, string $version, string $payload): array
{
    return ['start' => $start, 'end' => $end, 'form' => $form, 'version' => $version, 'payload' => $payload];
}

/** Returns the lines that contain a delimiter of a footer. */
function candidate_lines(string $message): array
{
    $lines = [];
    $start = 0;
    foreach (explode("\n", $message) as $raw) {
        $next = min($start + strlen($raw) + 1, strlen($message));
        if (str_contains($raw, NAME) || str_contains($raw, SENTINEL)) {
            $lines[] = ['start' => $start, 'next' => $next, 'raw' => $raw, 'text' => trim_end(trim_start($raw))];
        }
        $start += strlen($raw) + 1;
    }
    return $lines;
}

function trim_start(string $text): string
{
    return substr($text, strlen(preg_match('/^' . SPACE . '*+/', $text, $found) === 1 ? $found[0] : ''));
}

function trim_end(string $text): string
{
    $end = strlen($text);
    do {
        $before = $end;
        foreach (SPACES as $space) {
            $length = strlen($space);
            if ($end >= $length && substr_compare($text, $space, $end - $length, $length) === 0) {
                $end -= $length;
            }
        }
    } while ($end < $before);
    return substr($text, 0, $end);
}

function is_blank(string $text): bool
{
    return trim_start($text) === '';
}

function opened_version(string $line): ?string
{
    if (!str_starts_with($line, OPENING) || !str_ends_with($line, OPENING_END)) {
        return null;
    }
    $version = substr($line, strlen(OPENING), -strlen(OPENING_END));
    return $version === '' || preg_match('/' . SPACE . '/', $version) === 1 ? null : $version;
}

function parts_within(string $message, array $line): array
{
    $parts = str_contains($line['text'], SENTINEL) ? sentinels_within($line) : [];
    $fragment = str_contains($line['text'], NAME) ? fragment_within($message, $line) : null;
    if ($fragment !== null) {
        $parts[] = $fragment;
        usort($parts, fn (array $a, array $b) => $a['start'] <=> $b['start']);
    }
    return $parts;
}

function sentinels_within(array $line): array
{
    $parts = [];
    $candidates = explode(SENTINEL, $line['raw']);
    $start = $line['start'] + strlen(array_shift($candidates));
    foreach ($candidates as $candidate) {
        [$close, $colon] = [strpos($candidate, SENTINEL_END), strpos($candidate, ':')];
        if (str_starts_with($candidate, 'v') && $colon !== false && $colon > 1 && $close !== false && $colon < $close) {
            $length = strlen(SENTINEL) + $close + strlen(SENTINEL_END);
            $isOwnLine = strlen($line['text']) === $length;
            $parts[] = footer(
                $isOwnLine ? $line['start'] : $start,
                $isOwnLine ? $line['next'] : $start + $length,
                'sentinel',
                substr($candidate, 1, $colon - 1),
                substr($candidate, $colon + 1, $close - $colon - 1),
            );
        } else {
            $parts[] = ['start' => $start, 'problem' => 'the sentinel of the footer is incomplete'];
        }
        $start += strlen(SENTINEL) + strlen($candidate);
    }
    return $parts;
}

function fragment_within(string $message, array $line): ?array
{
    $isDashed = preg_match('/^(?:--|–|—)(?:-|–|—| |\t){0,8}/', $line['text'], $dashes) === 1;
    $rest = $isDashed ? substr($line['text'], strlen($dashes[0])) : '';
    if (str_starts_with($rest, NAME)) {
        return ['start' => $line['start'], 'problem' => 'the opening line of the footer is incomplete'];
    }
    if (str_starts_with($rest, 'end ' . NAME)) {
        $problem = 'the footer is closed but was never opened';
        return ['start' => $line['start'], 'problem' => $problem, 'closes' => true];
    }
    $joined = '/^(?:(?!' . SPACE . ').){1,64}?' . SPACE . '{1,8}--' . SPACE . '{0,8}\{/s';
    for ($at = strpos($line['raw'], OPENING); $at !== false; $at = strpos($line['raw'], OPENING, $at + 1)) {
        $version = $line['start'] + $at + strlen(OPENING);
        if (preg_match($joined, substr($message, $version, JOINED_REACH)) === 1) {
            return ['start' => $line['start'] + $at, 'problem' => 'the line breaks of the footer were removed'];
        }
    }
    return null;
}

function truncated_start(string $message): ?array
{
    $problem = 'the message ends within the opening delimiter of a footer';
    $break = strrpos($message, "\n");
    $line = $break === false ? $message : substr($message, $break + 1);
    $opening = trim_end(trim_start($line));
    $isLongEnough = strlen($opening) >= strlen('-- svc-');
    if ($isLongEnough && str_starts_with(OPENING, $opening) && !str_contains($opening, NAME)) {
        return ['start' => strlen($message) - strlen($line), 'problem' => $problem];
    }
    for ($length = strlen(SENTINEL) - 1; $length >= strlen('[[SV'); $length--) {
        if (str_ends_with($message, substr(SENTINEL, 0, $length))) {
            return ['start' => strlen($message) - $length, 'problem' => $problem];
        }
    }
    return null;
}

/** @return array{?array<string, mixed>, ?string, bool} the metadata, the problem, and whether adjacent footers belong to it */
function read_payload(array $footer): array
{
    $json = $footer['form'] === 'block' ? $footer['payload'] : decode_base64($footer['payload']);
    if ($json === null || preg_match('//u', $json) !== 1) {
        return [null, 'the sentinel of the footer is not base64 of UTF-8', true];
    }
    if ($footer['form'] === 'sentinel' && str_starts_with($json, "\u{feff}")) {
        $json = substr($json, strlen("\u{feff}"));
    }
    $value = json_decode($json);
    if (json_last_error() !== JSON_ERROR_NONE) {
        return [null, 'the footer is not valid JSON', true];
    }
    if (!is_object($value)) {
        return [null, 'the footer is not a JSON object', true];
    }
    return [json_decode($json, true), null, !str_starts_with($json, ' {')];
}

/** Returns the index of the first footer in the run of adjacent footers that ends at `last`. */
function start_of_run(string $message, array $parts, int $last): int
{
    $first = $last;
    while ($first > 0 && is_footer($parts[$first - 1])) {
        $end = $parts[$first - 1]['end'];
        if (!is_blank(substr($message, $end, $parts[$first]['start'] - $end))) {
            break;
        }
        $first--;
    }
    return $first;
}

/** Removing a footer can join two halves of another one, so the remaining text is checked again. */
function without_metadata(string $text, ?string $problem): array
{
    $remaining = find_parts($text);
    if ($remaining !== []) {
        $text = substr($text, 0, $remaining[0]['start']);
        $problem ??= 'the message contains overlapping footers';
    }
    return ['text' => $text, 'metadata' => null, 'form' => null, 'problem' => $problem];
}

/** At the end of a message, the line break before the footer and blank lines after it are removed too. */
function cut(string $message, array $footers): string
{
    if ($footers === []) {
        return $message;
    }
    $text = '';
    $at = 0;
    foreach ($footers as $index => $footer) {
        $between = substr($message, $at, max(0, $footer['start'] - $at));
        if ($index === 0 || !is_blank($between)) {
            $text .= $between;
        }
        $at = $footer['end'];
    }
    $rest = substr($message, $at);
    return is_blank($rest) ? without_line_break($text) : $text . $rest;
}

function without_line_break(string $text): string
{
    if (str_ends_with($text, "\r\n")) {
        return substr($text, 0, -2);
    }
    return str_ends_with($text, "\n") ? substr($text, 0, -1) : $text;
}

/** Returns the text that is safe to show: without footers, and only up to the first fragment. */
function readable_text(string $message, array $parts): string
{
    foreach ($parts as $index => $part) {
        if (is_footer($part)) {
            continue;
        }
        $before = substr($message, 0, $part['start']);
        // The second half of a split message: everything before the closing line is the rest of the JSON.
        if (isset($part['closes']) && str_ends_with(trim_end($before), '}')) {
            return '';
        }
        return without_line_break(cut($before, array_slice($parts, 0, $index)));
    }
    return cut($message, $parts);
}
