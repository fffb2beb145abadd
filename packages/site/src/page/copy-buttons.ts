/** Adds a copy button to each code block. The clipboard requires a secure context. */
export function addCopyButtons(blocks: Iterable<HTMLElement>): void {
  if (!isSecureContext) return;
  for (const block of blocks) {
    const code = block.textContent;
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy';
    button.textContent = 'Copy';
    button.addEventListener('click', () => {
      void navigator.clipboard.writeText(code).then(
        () => (button.textContent = 'Copied'),
        () => (button.textContent = 'Not copied'),
      );
    });
    const frame = document.createElement('div');
    frame.className = 'code';
    block.replaceWith(frame);
    frame.append(block, button);
  }
}
