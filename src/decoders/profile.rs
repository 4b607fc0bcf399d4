//! Colour profiles (ICC). A profile may hold any bytes, so none is passed on: the colours become those of sRGB, which is what a
//! picture without a profile is shown in.

/// The largest profile that is read, in bytes, and the most entries of its table. Those of cameras and screens have a few KB.
const LARGEST: usize = 1 << 20;
const TAGS: usize = 100;
/// The steps between dark and bright in which light is told apart.
const STEPS: usize = 1 << 14;
/// How far the colours of a profile are from sRGB at most where they are left as they are, of 255.
const NEAR: u8 = 2;
/// What a picture holds for each channel at which profiles are compared.
const SAMPLES: [u8; 5] = [0, 64, 128, 192, 255];
/// From XYZ under the light D50 to the light of the channels of sRGB.
const TO_SRGB: [[f64; 3]; 3] = [
    [3.133_856_1, -1.616_866_7, -0.490_614_6],
    [-0.978_768_4, 1.916_141_5, 0.033_454_0],
    [0.071_945_3, -0.228_991_4, 1.405_242_7],
];

/// The way from the colours of a picture to sRGB.
pub(crate) struct Profile {
    /// How much light a value of each channel stands for.
    light: [[f64; 256]; 3],
    /// From the light of the channels to that of sRGB.
    mixed: [[f64; 3]; 3],
    /// The values of sRGB by light.
    values: Vec<u8>,
}

impl Profile {
    /// Reads a profile of RGB with a matrix and curves, as cameras, telephones and screens have. Nothing else is read.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let is_rgb = bytes.get(36..40)? == b"acsp" && bytes.get(16..24)? == b"RGB XYZ ";
        if !is_rgb || bytes.len() > LARGEST {
            return None;
        }
        let curve = |name| curve(tag(bytes, name)?);
        let light = [curve(b"rTRC")?, curve(b"gTRC")?, curve(b"bTRC")?];
        let color = |name| color(tag(bytes, name)?);
        let [red, green, blue] = [color(b"rXYZ")?, color(b"gXYZ")?, color(b"bXYZ")?];
        let mixed = TO_SRGB.map(|row| {
            [red, green, blue].map(|color| row.iter().zip(color).map(|(factor, part)| factor * part).sum::<f64>())
        });
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 255")]
        let values = (0..=STEPS).map(|step| (encoded(step as f64 / STEPS as f64) * 255.0).round() as u8).collect();
        Some(Self { light, mixed, values })
    }

    /// Whether its colours look as those of sRGB.
    pub fn is_srgb(&self) -> bool {
        let samples = || SAMPLES.into_iter();
        let mut all = samples().flat_map(|r| samples().flat_map(move |g| samples().map(move |b| [r, g, b])));
        all.all(|color| self.color(color).into_iter().zip(color).all(|(made, was)| made.abs_diff(was) <= NEAR))
    }

    /// Makes pixels those of sRGB; each begins with red, green and blue.
    pub fn convert(&self, pixels: &mut [u8], channels: usize) {
        for pixel in pixels.chunks_exact_mut(channels) {
            if let [red, green, blue, ..] = pixel {
                [*red, *green, *blue] = self.color([*red, *green, *blue]);
            }
        }
    }

    fn color(&self, [red, green, blue]: [u8; 3]) -> [u8; 3] {
        let [reds, greens, blues] = &self.light;
        let light = [reds[usize::from(red)], greens[usize::from(green)], blues[usize::from(blue)]];
        self.mixed.map(|row| {
            let sum = row[0] * light[0] + row[1] * light[1] + row[2] * light[2];
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to the number of steps")]
            let step = (sum.clamp(0.0, 1.0) * STEPS as f64).round() as usize;
            self.values.get(step).copied().unwrap_or(u8::MAX)
        })
    }
}

/// The bytes under a name of the profile's table.
fn tag<'a>(bytes: &'a [u8], name: &[u8; 4]) -> Option<&'a [u8]> {
    let count = usize::try_from(word(bytes, 128)?).ok()?.min(TAGS);
    let at = (0..count).map(|n| 132 + 12 * n).find(|at| bytes.get(*at..at + 4).is_some_and(|found| found == name))?;
    let (from, size) = (usize::try_from(word(bytes, at + 4)?).ok()?, usize::try_from(word(bytes, at + 8)?).ok()?);
    bytes.get(from..from.checked_add(size)?)
}

/// A number of 32 bits.
fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// A number of 16 bits.
fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// A number with a sign and 16 bits of fraction.
fn fixed(bytes: &[u8], at: usize) -> Option<f64> {
    Some(f64::from(word(bytes, at)?.cast_signed()) / 65_536.0)
}

fn color(tag: &[u8]) -> Option<[f64; 3]> {
    (tag.get(..4)? == b"XYZ ").then_some(())?;
    Some([fixed(tag, 8)?, fixed(tag, 12)?, fixed(tag, 16)?])
}

/// How much light each value of a channel stands for, from 0 to 1.
fn curve(tag: &[u8]) -> Option<[f64; 256]> {
    let by: Box<dyn Fn(f64) -> Option<f64>> = match tag.get(..4)? {
        b"curv" => match usize::try_from(word(tag, 8)?).ok()? {
            0 => Box::new(Some),
            1 => {
                let gamma = f64::from(half(tag, 12)?) / 256.0;
                Box::new(move |x| Some(x.powf(gamma)))
            }
            count => Box::new(move |x| {
                let at = x * (count - 1) as f64;
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to the last entry")]
                let before = (at as usize).min(count - 2);
                let entry = |n: usize| Some(f64::from(half(tag, n.checked_mul(2)?.checked_add(12)?)?) / 65_535.0);
                let (low, high) = (entry(before)?, entry(before + 1)?);
                Some(low + (high - low) * (at - before as f64))
            }),
        },
        b"para" => parametric(tag)?,
        _ => return None,
    };
    let mut light = [0.0; 256];
    for (value, light) in light.iter_mut().enumerate() {
        *light = by(value as f64 / 255.0).filter(|light| light.is_finite())?.clamp(0.0, 1.0);
    }
    Some(light)
}

/// A curve by a formula, of the five kinds that there are.
fn parametric(tag: &[u8]) -> Option<Box<dyn Fn(f64) -> Option<f64>>> {
    let kind = half(tag, 8)?;
    let count = *[1, 3, 4, 5, 7].get(usize::from(kind))?;
    let given: Vec<f64> = (0..count).map(|n| fixed(tag, 12 + 4 * n)).collect::<Option<_>>()?;
    let part = |n: usize| given.get(n).copied().unwrap_or(0.0);
    // Y = (a·X + b)^gamma + above from `from` on; slope·X + below before it.
    let (gamma, a, b) = (part(0), if kind == 0 { 1.0 } else { part(1) }, part(2));
    let (from, slope, above, below) = match kind {
        0 => (0.0, 0.0, 0.0, 0.0),
        1 => (-b / a, 0.0, 0.0, 0.0),
        2 => (-b / a, 0.0, part(3), part(3)),
        _ => (part(4), part(3), part(5), part(6)),
    };
    Some(Box::new(move |x| Some(if x >= from { (a * x + b).powf(gamma) + above } else { slope * x + below })))
}

/// Light as sRGB writes it.
fn encoded(light: f64) -> f64 {
    if light <= 0.003_130_8 { light * 12.92 } else { 1.055 * light.powf(1.0 / 2.4) - 0.055 }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A profile of RGB.
    pub(crate) fn profile(colors: [[f64; 3]; 3], curve: &[u8]) -> Vec<u8> {
        let number = |value: f64| ((value * 65_536.0).round() as i32).to_be_bytes();
        let color = |parts: [f64; 3]| [b"XYZ \0\0\0\0".to_vec(), parts.map(number).concat()].concat();
        let names = [b"rXYZ", b"gXYZ", b"bXYZ", b"rTRC", b"gTRC", b"bTRC"];
        let mut tags: Vec<Vec<u8>> = colors.map(color).to_vec();
        tags.extend([curve.to_vec(), curve.to_vec(), curve.to_vec()]);
        let mut bytes = vec![0; 128];
        bytes[16..24].copy_from_slice(b"RGB XYZ ");
        bytes[36..40].copy_from_slice(b"acsp");
        bytes.extend((names.len() as u32).to_be_bytes());
        let mut at = 132 + 12 * names.len();
        for (name, tag) in names.iter().zip(&tags) {
            bytes.extend_from_slice(*name);
            bytes.extend((at as u32).to_be_bytes());
            bytes.extend((tag.len() as u32).to_be_bytes());
            at += tag.len();
        }
        bytes.extend(tags.concat());
        bytes
    }

    /// A curve by a formula.
    pub(crate) fn formula(kind: u8, parts: &[f64]) -> Vec<u8> {
        let mut tag = vec![b'p', b'a', b'r', b'a', 0, 0, 0, 0, 0, kind, 0, 0];
        parts.iter().for_each(|part| tag.extend(((part * 65_536.0).round() as i32).to_be_bytes()));
        tag
    }

    /// The curve of sRGB, and the colours of sRGB and of Display P3, the screens of telephones.
    pub(crate) const CURVE: [f64; 5] = [2.4, 1.0 / 1.055, 0.055 / 1.055, 1.0 / 12.92, 0.040_45];
    pub(crate) const SRGB: [[f64; 3]; 3] =
        [[0.436_07, 0.222_49, 0.013_92], [0.385_15, 0.716_87, 0.097_08], [0.143_07, 0.060_61, 0.714_10]];
    pub(crate) const P3: [[f64; 3]; 3] =
        [[0.515_12, 0.241_20, -0.001_05], [0.291_98, 0.692_25, 0.041_89], [0.157_10, 0.066_57, 0.784_07]];
    /// Adobe RGB, with its gamma of 2.2.
    const ADOBE: [[f64; 3]; 3] =
        [[0.609_74, 0.311_11, 0.019_47], [0.205_28, 0.625_67, 0.060_87], [0.149_19, 0.063_22, 0.744_57]];

    #[test]
    fn colors_become_those_of_srgb() {
        let gamma = b"curv\0\0\0\0\0\0\0\x01\x02\x33";
        let table = b"curv\0\0\0\0\0\0\0\x03\0\0\x40\0\xff\xff";
        // What littleCMS makes of them.
        for (colors, curve, color, expected) in [
            (P3, &formula(3, &CURVE)[..], [255, 255, 255], [255, 255, 255]),
            (P3, &formula(3, &CURVE), [128, 128, 128], [128, 128, 128]),
            (P3, &formula(3, &CURVE), [200, 100, 50], [215, 93, 31]),
            (P3, &formula(3, &CURVE), [55, 128, 0], [0, 130, 0]),
            (P3, &formula(0, &[2.0]), [200, 100, 50], [220, 103, 36]),
            (P3, &formula(1, &[2.0, 1.1, -0.1]), [200, 100, 50], [216, 85, 0]),
            (P3, &formula(2, &[2.0, 1.0, -0.1, 0.05]), [200, 100, 50], [204, 97, 59]),
            (P3, &formula(4, &[2.4, 0.9, 0.1, 0.1, 0.05, 0.01, 0.02]), [55, 128, 0], [40, 139, 4]),
            (ADOBE, gamma, [100, 150, 100], [66, 151, 97]),
            (SRGB, table, [200, 100, 50], [215, 122, 88]),
            (SRGB, b"curv\0\0\0\0\0\0\0\0", [55, 128, 0], [128, 188, 0]),
        ] {
            let profile = Profile::read(&profile(colors, curve)).unwrap();
            let mut pixels = [color[0], color[1], color[2], 77];
            profile.convert(&mut pixels, 4);
            assert!(pixels.iter().zip(expected).all(|(made, right)| made.abs_diff(right) <= 1), "{color:?} {pixels:?}");
            assert!(!profile.is_srgb() && pixels[3] == 77);
        }
        assert!(Profile::read(&profile(SRGB, &formula(3, &CURVE))).unwrap().is_srgb());
    }

    #[test]
    fn hostile_profiles_are_not_read_or_do_nothing_bad() {
        let right = profile(P3, &formula(3, &CURVE));
        for length in 0..right.len() {
            assert!(Profile::read(&right[..length]).is_none(), "{length}");
        }
        let mut large = right.clone();
        large.resize(LARGEST + 1, 0);
        let mut gray = right.clone();
        gray[16..20].copy_from_slice(b"GRAY");
        for bytes in
            [&large, &gray, &profile(P3, &formula(9, &CURVE)), &profile(P3, b"curv\0\0\0\0\xff\xff\xff\xff\0\0")]
        {
            assert!(Profile::read(bytes).is_none());
        }
        for curve in [
            formula(0, &[-3.0]),
            formula(1, &[0.5, 0.0, 0.0]),
            formula(2, &[2.0, -1.0, -9.0, 3.0]),
            formula(4, &[9e3; 7]),
        ] {
            if let Some(read) = Profile::read(&profile([[32_767.0; 3], [-32_768.0; 3], [0.0; 3]], &curve)) {
                read.convert(&mut [0, 127, 255], 3);
            }
        }
        for at in 0..right.len() {
            for value in [0, 1, 0x7F, 0xFF] {
                let mut changed = right.clone();
                changed[at] = value;
                if let Some(read) = Profile::read(&changed) {
                    read.convert(&mut [0, 127, 255], 3);
                }
            }
        }
    }
}
