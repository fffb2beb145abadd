import { useState } from 'preact/hooks';

import { Icon } from '@footbridge/ui/icons';
import type { ShownFile } from './chat-item.ts';

/** Shows an image, or the name of any other file. */
export function Attachment({ file: { name, mime, url } }: { file: ShownFile }) {
  const [isBroken, setBroken] = useState(false);
  if (mime.startsWith('image/') && url !== undefined && !isBroken) {
    return <img class="attachment-image" src={url} alt={name} onError={() => setBroken(true)} />;
  }
  const label = (
    <>
      <Icon name="file" />
      <bdi>{name}</bdi>
    </>
  );
  return url === undefined || isBroken ? (
    <span class="attachment-file">{label}</span>
  ) : (
    <a class="attachment-file" href={url} target="_blank" rel="noreferrer">
      {label}
    </a>
  );
}
