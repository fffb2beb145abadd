// The package unpacks into the temporary directory, under a fixed name: the caller sets TMPDIR to a directory of its own.
import chromium from '@sparticuz/chromium';

await chromium.executablePath();
