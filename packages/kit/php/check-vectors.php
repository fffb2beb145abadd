<?php

// Runs the test vectors with footbridge-kit.php: php check-vectors.php [FOLDER of the vectors].
// Prints the number of checks and the name of each failed check; exits with 1 if any check failed.

declare(strict_types=1);

namespace Footbridge;

require __DIR__ . '/footbridge-kit.php';

$folder = $argv[1] ?? __DIR__ . '/../vectors';
$read = fn (string $name) => json_decode(file_get_contents("$folder/$name"), true, 512, JSON_THROW_ON_ERROR);
$passed = 0;
$failed = [];
$check = function (string $name, mixed $actual, mixed $expected) use (&$passed, &$failed): void {
    // The order of the keys of an object does not matter; types do.
    if (sorted($actual) === sorted($expected)) {
        $passed++;
    } else {
        $failed[] = $name;
    }
};
$isAccepted = fn (string $body, string $signature, array $key, string $scheme, string $header) => verify_webhook(
    $body,
    [$header => $signature],
    [['publicKey' => $key['publicKeyPem'], 'scheme' => $scheme]],
)['ok'];

function sorted(mixed $value): mixed
{
    if (!is_array($value)) {
        return $value;
    }
    ksort($value);
    return array_map(sorted(...), $value);
}

$ed25519 = $read('signatures-ed25519.json');
$rsa = $read('signatures-rsa-sha256.json');
foreach ([[$ed25519, 'Ed25519', 'X-CRM-Signature'], [$rsa, 'RSA-SHA256', 'X-WH-Signature']] as [$vectors, $scheme, $header]) {
    foreach ($vectors['valid'] as $vector) {
        $key = isset($vectors['keys']) ? $vectors['keys'][$vector['key']] : $vectors['key'];
        $signed = sign_webhook($vector['body'], $key['privateKeyPem']);
        $check("$scheme signs: {$vector['name']}", $signed['headers'][$header], $vector['signature']);
        $accepted = $isAccepted($vector['body'], $vector['signature'], $key, $scheme, $header);
        $check("$scheme accepts: {$vector['name']}", $accepted, true);
    }
    foreach ($vectors['invalid'] as $vector) {
        $key = isset($vectors['keys']) ? $vectors['keys'][$vector['key']] : $vectors['key'];
        $accepted = $isAccepted($vector['body'], $vector['signature'], $key, $scheme, $header);
        $check("$scheme rejects: {$vector['name']}", $accepted, false);
    }
}

$base64 = $read('base64.json');
foreach ($base64['spellings'] as $spelling) {
    $key = $ed25519['keys']['seed'];
    $accepted = $isAccepted($base64['body'], $spelling['value'], $key, 'Ed25519', 'X-CRM-Signature');
    $check("base64: {$spelling['name']}", $accepted, $spelling['ok']);
}

$headers = $read('headers.json');
foreach ($headers['requests'] as $request) {
    $pems = [...$ed25519['keys'], 'rsa' => $rsa['key']];
    $trust = fn (array $key) => [...$key, 'publicKey' => $pems[$key['key']]['publicKeyPem']];
    $trusted = array_map($trust, $request['trusted']);
    $verified = verify_webhook($headers['body'], $request['headers'], $trusted);
    $accepted = $verified['ok'] ? array_search($verified['key'], $trusted, true) : null;
    $check("headers: {$request['name']}", $accepted, $request['accepted']);
}

foreach ($read('footers.json')['footers'] as $vector) {
    ['text' => $text, 'metadata' => $metadata, 'form' => $form, 'problem' => $problem] = parse_footer($vector['message']);
    $expected = [$vector['text'], $vector['metadata'], $vector['form'], $vector['unreadable']];
    $check("footer: {$vector['name']}", [$text, $metadata, $form, $problem !== null], $expected);
    $check("strip: {$vector['name']}", strip_footer($vector['message']), $vector['text']);
    foreach (['block', 'sentinel'] as $form) {
        $written = parse_footer(make_footer(['chat_id' => 7], $vector['message'], $form));
        $check("$form: {$vector['name']}", [$written['text'], $written['metadata']], [$vector['message'], ['chat_id' => 7]]);
    }
}

printf("%d checks passed, %d failed\n", $passed, count($failed));
foreach ($failed as $name) {
    echo "failed: $name\n";
}
exit($failed === [] ? 0 : 1);
