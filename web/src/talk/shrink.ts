// Pictures are made smaller before they leave where that loses a model nothing; fetched with the first picture that is chosen.

/** A model's provider refuses more than 5 MB of base64, which is a third longer than the picture; and a picture stays in its conversation. */
const BYTES = 3_500_000;
/** No model looks at more pixels a side than this. */
const SIDE = 2576;
/** What is made smaller has so many pixels a side. */
const SMALLER = 2048;
const QUALITY = 0.85;
/** A drawing has no pixels, and an animation would stand still. */
const AS_THEY_ARE = ['image/svg+xml', 'image/gif'];

/** The picture as it is to be sent, upright: as it was where it is small enough, or where this browser cannot read it. */
export async function shrunk(file: File): Promise<File> {
  if (AS_THEY_ARE.includes(file.type)) return file;
  const url = URL.createObjectURL(file);
  try {
    // An element, for every browser turns it as the camera was held.
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
  // A JPEG has no glass: what shone through would be black.
  pen.fillStyle = '#fff';
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.imageSmoothingQuality = 'high';
  pen.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, 'image/jpeg', QUALITY));
}
