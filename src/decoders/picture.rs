//! Pictures: PNG, JPEG, WebP, GIF and BMP, scaled and written anew, so that nothing but their pixels stays.

use crate::{
    fault::{Fault, Result},
    profile::Profile,
};
use image::{
    DynamicImage, GenericImageView, ImageDecoder, ImageError, ImageFormat, ImageReader, Limits, RgbaImage,
    codecs::{gif::GifEncoder, jpeg::JpegEncoder, png::PngEncoder, webp::WebPEncoder},
    error::LimitErrorKind,
    imageops::{self, FilterType},
};
use serde::{Deserialize, Serialize};
use std::io::Cursor;

/// The widest and highest picture that is decoded, its most pixels, and the most memory for it.
const SIDE: u32 = 20_000;
const PIXELS: u64 = 40_000_000;
const MEMORY: u64 = 200 << 20;
/// The longest side and the most pixels of what is made.
const LARGEST_SIDE: u32 = 8_000;
const LARGEST: u64 = 16_000_000;
/// The most memory that the better of two ways to scale may take between its steps.
const BETWEEN: u64 = 64 << 20;
/// How much of a picture's quality GIF spends time on: 1 is the most.
const GIF_SPEED: i32 = 10;

/// What is made of a picture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResizeTask {
    pub width: u32,
    pub height: u32,
    pub fit: Fit,
    /// That of the picture by default.
    pub format: Option<PictureFormat>,
    /// From 1 to 100; for JPEG.
    pub quality: u8,
}

/// How a picture fills a box of other proportions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Fit {
    /// As large as fits in; nothing is cut off.
    #[default]
    Inside,
    /// The whole picture in the middle, with margins.
    Contain,
    /// All of the box; what is beyond it is cut off.
    Cover,
    /// All of the box, distorted.
    Fill,
    /// As small as covers the box; nothing is cut off.
    Outside,
}

/// The formats that are read and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PictureFormat {
    Png,
    Jpeg,
    Webp,
    Gif,
    Bmp,
}

/// A picture that was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Picture {
    pub bytes: Vec<u8>,
    pub format: PictureFormat,
    pub width: u32,
    pub height: u32,
    /// What it was before, upright.
    pub was: (u32, u32),
    /// It came with a colour profile of a kind that is not read, so its colours may look different.
    pub has_lost_colors: bool,
}

impl PictureFormat {
    /// The usual ending of names, and the media type.
    pub fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Png => ("png", "image/png"),
            Self::Jpeg => ("jpg", "image/jpeg"),
            Self::Webp => ("webp", "image/webp"),
            Self::Gif => ("gif", "image/gif"),
            Self::Bmp => ("bmp", "image/bmp"),
        }
    }

    /// By the ending of a name.
    pub fn of_ending(ending: &str) -> Option<Self> {
        match ending.to_ascii_lowercase().as_str() {
            "png" => Some(Self::Png),
            "jpg" | "jpeg" | "jpe" => Some(Self::Jpeg),
            "webp" => Some(Self::Webp),
            "gif" => Some(Self::Gif),
            "bmp" => Some(Self::Bmp),
            _ => None,
        }
    }

    fn of(format: ImageFormat) -> Option<Self> {
        match format {
            ImageFormat::Png => Some(Self::Png),
            ImageFormat::Jpeg => Some(Self::Jpeg),
            ImageFormat::WebP => Some(Self::Webp),
            ImageFormat::Gif => Some(Self::Gif),
            ImageFormat::Bmp => Some(Self::Bmp),
            _ => None,
        }
    }
}

/// Scales a picture. Of a moving one, the first frame.
pub(crate) fn resize(task: &ResizeTask, bytes: &[u8]) -> Result<Picture> {
    let (picture, format, profile) = decode(bytes)?;
    let was = picture.dimensions();
    let (width, height) = (task.width, task.height);
    if width == 0 || height == 0 || width.max(height) > LARGEST_SIDE {
        return Err(Fault::BadArgs(format!("`width` and `height` are numbers of pixels from 1 to {LARGEST_SIDE}")));
    }
    let inside = within(was, (width, height), f64::min);
    let outside = within(was, (width, height), f64::max);
    let scaled = match task.fit {
        Fit::Inside => scale(&picture, inside)?,
        Fit::Outside => scale(&picture, outside)?,
        Fit::Fill => scale(&picture, (width, height))?,
        Fit::Cover => {
            // Cut first, so that no more is scaled than stays.
            let (x, y, kept) = middle(was, (width, height));
            scale(&picture.crop_imm(x, y, kept.0, kept.1), (width, height))?
        }
        Fit::Contain => {
            let inner = scale(&picture, inside)?;
            check((width, height))?;
            let clear = task.format.unwrap_or(format) != PictureFormat::Jpeg;
            let mut all =
                RgbaImage::from_pixel(width, height, image::Rgba([255, 255, 255, if clear { 0 } else { 255 }]));
            let (x, y) = ((width - inside.0.min(width)) / 2, (height - inside.1.min(height)) / 2);
            imageops::overlay(&mut all, &inner.to_rgba8(), x.into(), y.into());
            all.into()
        }
    };
    let format = task.format.unwrap_or(format);
    let (width, height) = scaled.dimensions();
    let read = profile.as_deref().map(Profile::read);
    let scaled = match &read {
        Some(Some(profile)) if !profile.is_srgb() => converted(&scaled, profile),
        _ => scaled,
    };
    let bytes = encode(&scaled, format, task.quality.clamp(1, 100))?;
    Ok(Picture { bytes, format, width, height, was, has_lost_colors: matches!(read, Some(None)) })
}

/// A picture with the colours of its profile as those of sRGB.
fn converted(picture: &DynamicImage, profile: &Profile) -> DynamicImage {
    let mut plain = picture.plain();
    match &mut plain {
        DynamicImage::ImageRgb8(pixels) => profile.convert(pixels, 3),
        DynamicImage::ImageRgba8(pixels) => profile.convert(pixels, 4),
        _ => {}
    }
    plain
}

/// A picture, upright, with its format and colour profile.
fn decode(bytes: &[u8]) -> Result<(DynamicImage, PictureFormat, Option<Vec<u8>>)> {
    let unknown =
        || Fault::Unsupported("it is no picture of a format that is decoded: PNG, JPEG, WebP, GIF and BMP are".into());
    let mut reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format().map_err(|_| unknown())?;
    let format = reader.format().and_then(PictureFormat::of).ok_or_else(unknown)?;
    let mut limits = Limits::default();
    (limits.max_image_width, limits.max_image_height, limits.max_alloc) = (Some(SIDE), Some(SIDE), Some(MEMORY));
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(fault)?;
    let (width, height) = decoder.dimensions();
    if u64::from(width) * u64::from(height) > PIXELS {
        return Err(Fault::TooLarge(format!(
            "the picture has {width} × {height} pixels, more than the {} million that are decoded",
            PIXELS / 1_000_000
        )));
    }
    let profile = decoder.icc_profile().ok().flatten();
    let orientation = decoder.orientation().map_err(fault)?;
    let mut picture = DynamicImage::from_decoder(decoder).map_err(fault)?;
    picture.apply_orientation(orientation);
    Ok((picture, format, profile))
}

fn fault(error: ImageError) -> Fault {
    match error {
        ImageError::Limits(limit) if matches!(limit.kind(), LimitErrorKind::DimensionError) => {
            Fault::TooLarge(format!("the picture is wider or higher than the {SIDE} pixels that are decoded"))
        }
        ImageError::Limits(_) => {
            Fault::TooLarge(format!("decoding the picture takes more than {} MB of memory", MEMORY >> 20))
        }
        ImageError::Unsupported(_) => {
            Fault::Unsupported("the picture has a form that is not decoded: save it anew".into())
        }
        _ => Fault::Broken("the picture is damaged: save it anew".into()),
    }
}

/// The size with the proportions of a picture, by the smaller or larger of both scales.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "both sides are between 1 and the bound")]
fn within(was: (u32, u32), wanted: (u32, u32), choose: fn(f64, f64) -> f64) -> (u32, u32) {
    let scale = choose(f64::from(wanted.0) / f64::from(was.0), f64::from(wanted.1) / f64::from(was.1));
    let side = |side: u32| (f64::from(side) * scale).round().clamp(1.0, f64::from(u32::MAX)) as u32;
    (side(was.0), side(was.1))
}

/// The middle of a picture with other proportions: where it begins, and its size.
fn middle(was: (u32, u32), wanted: (u32, u32)) -> (u32, u32, (u32, u32)) {
    let by_height = u64::from(was.1) * u64::from(wanted.0) / u64::from(wanted.1);
    let by_width = u64::from(was.0) * u64::from(wanted.1) / u64::from(wanted.0);
    let side = |side: u64, most: u32| u32::try_from(side).unwrap_or(most).clamp(1, most);
    let kept = (side(by_height, was.0), side(by_width, was.1));
    ((was.0 - kept.0) / 2, (was.1 - kept.1) / 2, kept)
}

fn check((width, height): (u32, u32)) -> Result<()> {
    if width.max(height) > LARGEST_SIDE || u64::from(width) * u64::from(height) > LARGEST {
        return Err(Fault::BadArgs(format!(
            "the picture would have {width} × {height} pixels: choose sizes up to {LARGEST_SIDE} and {} million pixels",
            LARGEST / 1_000_000
        )));
    }
    Ok(())
}

fn scale(picture: &DynamicImage, (width, height): (u32, u32)) -> Result<DynamicImage> {
    check((width, height))?;
    let was = picture.dimensions();
    if was == (width, height) {
        return Ok(picture.clone());
    }
    // A first step halves cheaply what is far larger.
    let first;
    let mut from = picture;
    if was.0 / 2 > width && was.1 / 2 > height {
        first = picture.thumbnail_exact(width * 2, height * 2);
        from = &first;
    }
    let between = u64::from(from.width()) * u64::from(height) * 16;
    Ok(match between > BETWEEN {
        true => from.thumbnail_exact(width, height),
        false => from.resize_exact(width, height, FilterType::CatmullRom),
    })
}

fn encode(picture: &DynamicImage, format: PictureFormat, quality: u8) -> Result<Vec<u8>> {
    let mut out = Cursor::new(vec![]);
    let written = match format {
        PictureFormat::Jpeg => picture.to_rgb().write_with_encoder(JpegEncoder::new_with_quality(&mut out, quality)),
        PictureFormat::Png => picture.plain().write_with_encoder(PngEncoder::new(&mut out)),
        PictureFormat::Webp => picture.plain().write_with_encoder(WebPEncoder::new_lossless(&mut out)),
        PictureFormat::Gif => {
            let (width, height) = picture.dimensions();
            GifEncoder::new_with_speed(&mut out, GIF_SPEED).encode(
                picture.to_rgba8().as_raw(),
                width,
                height,
                image::ExtendedColorType::Rgba8,
            )
        }
        PictureFormat::Bmp => DynamicImage::from(picture.to_rgb8()).write_to(&mut out, ImageFormat::Bmp),
    };
    written.map_err(|_| Fault::BadArgs("the picture cannot be written in this format: choose another".into()))?;
    Ok(out.into_inner())
}

trait Forms {
    /// Without transparency: on white.
    fn to_rgb(&self) -> DynamicImage;
    /// With eight bits a channel.
    fn plain(&self) -> DynamicImage;
}

impl Forms for DynamicImage {
    fn to_rgb(&self) -> DynamicImage {
        if !self.has_alpha() {
            return self.to_rgb8().into();
        }
        let (width, height) = self.dimensions();
        let mut white = RgbaImage::from_pixel(width, height, image::Rgba([255; 4]));
        imageops::overlay(&mut white, &self.to_rgba8(), 0, 0);
        DynamicImage::from(white).to_rgb8().into()
    }

    fn plain(&self) -> DynamicImage {
        if self.has_alpha() { self.to_rgba8().into() } else { self.to_rgb8().into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(width: u32, height: u32, format: PictureFormat) -> Vec<u8> {
        let pixels = RgbaImage::from_fn(width, height, |x, y| image::Rgba([(x % 256) as u8, (y % 256) as u8, 7, 255]));
        encode(&pixels.into(), format, 90).unwrap()
    }

    fn task(width: u32, height: u32, fit: Fit) -> ResizeTask {
        ResizeTask { width, height, fit, format: None, quality: 85 }
    }

    #[test]
    fn each_fit_has_its_size() {
        let wide = picture(200, 100, PictureFormat::Png);
        for (fit, expected) in [
            (Fit::Inside, (50, 25)),
            (Fit::Outside, (100, 50)),
            (Fit::Fill, (50, 50)),
            (Fit::Cover, (50, 50)),
            (Fit::Contain, (50, 50)),
        ] {
            let made = resize(&task(50, 50, fit), &wide).unwrap();
            assert_eq!(((made.width, made.height), made.was), (expected, (200, 100)), "{fit:?}");
            assert_eq!(decode(&made.bytes).unwrap().0.dimensions(), expected, "{fit:?}");
        }
        assert_eq!(middle((200, 100), (50, 50)), (50, 0, (100, 100)));
        assert_eq!(middle((100, 200), (50, 50)), (0, 50, (100, 100)));
        for (width, height) in [(0, 5), (5, 0), (8001, 1), (8000, 8000)] {
            assert!(
                matches!(resize(&task(width, height, Fit::Fill), &wide), Err(Fault::BadArgs(_))),
                "{width} {height}"
            );
        }
    }

    #[test]
    fn each_format_is_read_and_written() {
        use PictureFormat::{Bmp, Gif, Jpeg, Png, Webp};
        for from in [Png, Jpeg, Webp, Gif, Bmp] {
            for to in [Png, Jpeg, Webp, Gif, Bmp] {
                let made = resize(&ResizeTask { format: Some(to), ..task(9, 9, Fit::Contain) }, &picture(20, 10, from));
                assert_eq!(decode(&made.unwrap().bytes).unwrap().1, to, "{from:?} {to:?}");
            }
            assert_eq!(resize(&task(9, 9, Fit::Inside), &picture(20, 10, from)).unwrap().format, from);
        }
        let sizes = [30, 95].map(|quality| {
            resize(&ResizeTask { quality, ..task(100, 100, Fit::Fill) }, &picture(300, 300, Jpeg)).unwrap().bytes.len()
        });
        assert!(sizes[0] < sizes[1], "{sizes:?}");
    }

    #[test]
    fn a_photo_is_turned_upright_and_loses_its_metadata() {
        let jpeg = picture(40, 20, PictureFormat::Jpeg);
        // Orientation 6 in EXIF: turned by a quarter; and the place where it was taken.
        let exif =
            b"Exif\0\0MM\0*\0\0\0\x08\0\x02\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\x01\x0e\0\x02\0\0\0\x04home\0\0\0\0";
        let mut photo = jpeg[..2].to_vec();
        photo.extend([0xFF, 0xE1]);
        photo.extend(((exif.len() + 2) as u16).to_be_bytes());
        photo.extend(exif);
        photo.extend(&jpeg[2..]);
        let made = resize(&task(20, 20, Fit::Inside), &photo).unwrap();
        assert_eq!(((made.width, made.height), made.was), ((10, 20), (20, 40)));
        assert!(photo.windows(4).any(|four| four == b"home") && !made.bytes.windows(4).any(|four| four == b"home"));
        assert!(!made.bytes.windows(4).any(|four| four == b"Exif"));
    }

    #[test]
    fn a_profile_goes_and_its_colors_stay() {
        use crate::profile::tests::{CURVE, P3, formula, profile};
        use image::ImageEncoder;
        let with = |profile: &[u8]| {
            let mut out = Cursor::new(vec![]);
            let mut encoder = PngEncoder::new(&mut out);
            encoder.set_icc_profile(profile.to_vec()).unwrap();
            RgbaImage::from_pixel(9, 9, image::Rgba([200, 100, 50, 255])).write_with_encoder(encoder).unwrap();
            out.into_inner()
        };
        for (profile, color, has_lost_colors) in
            [(&profile(P3, &formula(3, &CURVE))[..], [215, 93, 31], false), (b"any bytes at all", [200, 100, 50], true)]
        {
            for format in [PictureFormat::Png, PictureFormat::Jpeg, PictureFormat::Webp] {
                let task = ResizeTask { format: Some(format), quality: 100, ..task(3, 3, Fit::Fill) };
                let made = resize(&task, &with(profile)).unwrap();
                let (picture, _, left) = decode(&made.bytes).unwrap();
                assert_eq!((left, made.has_lost_colors), (None, has_lost_colors));
                let found = picture.to_rgb8().get_pixel(1, 1).0;
                assert!(found.iter().zip(color).all(|(a, b)| a.abs_diff(b) <= 3), "{format:?} {found:?}");
            }
        }
    }

    #[test]
    fn hostile_pictures_are_refused() {
        let png = picture(20, 10, PictureFormat::Png);
        let mut huge = png.clone();
        huge[16..24].copy_from_slice(&[0, 0, 0xC3, 0x50, 0, 0, 0xC3, 0x50]);
        assert!(resize(&task(9, 9, Fit::Inside), &huge).is_err());
        for bytes in [&b""[..], b"GIF89a", b"\x89PNG\r\n\x1a\n", &png[..40], b"<svg/>", b"BM\0\0"] {
            assert!(resize(&task(9, 9, Fit::Inside), bytes).is_err());
        }
        for format in
            [PictureFormat::Png, PictureFormat::Jpeg, PictureFormat::Webp, PictureFormat::Gif, PictureFormat::Bmp]
        {
            let whole = picture(30, 30, format);
            for seed in 0..60_u64 {
                let mut bytes = whole.clone();
                let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
                for _ in 0..4 {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let at = (random >> 33) as usize % bytes.len();
                    bytes[at] = (random >> 20) as u8;
                }
                let _ = resize(&task(9, 9, Fit::Inside), &bytes);
            }
        }
    }
}
