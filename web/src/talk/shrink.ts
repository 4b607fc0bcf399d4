// Scales pictures down before upload where a model loses nothing; loaded with the first picture.

/** Providers refuse more than 5 MB of base64, which is a third longer than the picture. */
const BYTES = 3_500_000;
/** The most pixels per side that any model uses. */
const SIDE = 2576;
/** The pixels per side after scaling. */
const SMALLER = 2048;
const QUALITY = 0.85;
/** Vector graphics have no pixels, and animations would stop. */
const AS_THEY_ARE = ['image/svg+xml', 'image/gif'];

/** The picture to send, upright; unchanged where it is small or unreadable. */
export async function shrinkImage(file: File): Promise<File> {
  if (AS_THEY_ARE.includes(file.type)) return file;
  const url = URL.createObjectURL(file);
  try {
    // An image element applies the camera's orientation in every browser.
    const image = new Image();
    image.src = url;
    await image.decode();
    const longest = Math.max(image.naturalWidth, image.naturalHeight);
    if (!longest || (file.size <= BYTES && longest <= SIDE)) return file;
    const smaller = await drawn(image, Math.min(1, SMALLER / longest));
    if (!smaller || smaller.size >= file.size) return file;
    return new File([smaller], file.name.replace(/(\.\w+)?$/, '.jpg'), { type: 'image/jpeg' });
  } catch {
    return file;
  } finally {
    URL.revokeObjectURL(url);
  }
}

function drawn(image: HTMLImageElement, scale: number): Promise<Blob | null> {
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.round(image.naturalWidth * scale));
  canvas.height = Math.max(1, Math.round(image.naturalHeight * scale));
  const pen = canvas.getContext('2d');
  if (!pen) return Promise.resolve(null);
  // JPEG has no transparency, which would turn black.
  pen.fillStyle = '#fff';
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.imageSmoothingQuality = 'high';
  pen.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, 'image/jpeg', QUALITY));
}
