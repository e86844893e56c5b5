//! A typeface: how wide its letters are, and the part of it that a document
//! carries. Letters are set one after the other, which suits the scripts that
//! the face has.

use std::collections::BTreeMap;

use pdf_writer::{
    Name, Pdf, Rect, Ref, Str,
    types::{CidFontType, FontFlags, SystemInfo, UnicodeCmap},
};
use skrifa::{
    FontRef, GlyphId, MetadataProvider,
    instance::{LocationRef, Size},
};
use subsetter::GlyphRemapper;

use super::PrintError;

const SYSTEM: SystemInfo<'static> = SystemInfo { registry: Str(b"Adobe"), ordering: Str(b"Identity"), supplement: 0 };

/// PDF measures letters in thousandths of their size.
fn thousandths() -> Size {
    Size::new(1000.0)
}

pub struct Font {
    /// What the PDF calls it; the first six letters say that it is a part.
    name: &'static str,
    data: &'static [u8],
    /// How thick its stems are, in thousandths.
    stem: f32,
    face: FontRef<'static>,
    used: GlyphRemapper,
    /// What each glyph stands for, so that text can be copied and searched.
    letters: BTreeMap<u16, char>,
}

impl Font {
    pub fn new(name: &'static str, data: &'static [u8], stem: f32) -> Result<Self, PrintError> {
        let face = FontRef::new(data).map_err(|_| PrintError::Font)?;
        Ok(Self { name, data, stem, face, used: GlyphRemapper::new(), letters: BTreeMap::new() })
    }

    pub fn has(&self, letter: char) -> bool {
        self.face.charmap().map(letter).is_some()
    }

    /// In thousandths of the size.
    fn advance(&self, glyph: GlyphId) -> f32 {
        let metrics = self.face.glyph_metrics(thousandths(), LocationRef::default());
        metrics.advance_width(glyph).unwrap_or_default()
    }

    pub fn width(&self, text: &str, size: f32) -> f32 {
        let glyphs = text.chars().map(|it| self.glyph(it));
        glyphs.map(|it| self.advance(it)).sum::<f32>() * size / 1000.0
    }

    /// What a letter is drawn with; the first glyph stands for those that it lacks.
    fn glyph(&self, letter: char) -> GlyphId {
        self.face.charmap().map(letter).unwrap_or_default()
    }

    /// A text as the document names its glyphs.
    pub fn encode(&mut self, text: &str) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(text.len() * 2);
        for letter in text.chars() {
            let glyph = u16::try_from(self.glyph(letter).to_u32()).unwrap_or_default();
            let id = self.used.remap(glyph);
            self.letters.entry(id).or_insert(letter);
            bytes.extend(id.to_be_bytes());
        }
        bytes
    }

    /// Writes the letters that were used; `first` and the four after it are its own.
    pub fn write(&self, pdf: &mut Pdf, first: i32) -> Result<(), PrintError> {
        let [font, cid, descriptor, to_unicode, file] = [0, 1, 2, 3, 4].map(|it| Ref::new(first + it));
        let base = Name(self.name.as_bytes());
        pdf.type0_font(font)
            .base_font(base)
            .encoding_predefined(Name(b"Identity-H"))
            .descendant_font(cid)
            .to_unicode(to_unicode);
        let mut described = pdf.cid_font(cid);
        described.subtype(CidFontType::Type2).base_font(base).system_info(SYSTEM).font_descriptor(descriptor);
        described.cid_to_gid_map_predefined(Name(b"Identity"));
        let widths: Vec<f32> = self.used.remapped_gids().map(|it| self.advance(GlyphId::new(it.into()))).collect();
        described.widths().consecutive(0, widths);
        drop(described);
        self.describe(pdf, descriptor, file);
        let mut map = UnicodeCmap::new(Name(b"Letters"), SYSTEM);
        for (glyph, letter) in &self.letters {
            map.pair(*glyph, *letter);
        }
        pdf.cmap(to_unicode, &map.finish());
        let part = subsetter::subset(self.data, 0, &self.used).map_err(|_| PrintError::Font)?;
        let length = i32::try_from(part.len()).map_err(|_| PrintError::Font)?;
        pdf.stream(file, &part).pair(Name(b"Length1"), length);
        Ok(())
    }

    fn describe(&self, pdf: &mut Pdf, descriptor: Ref, file: Ref) {
        let metrics = self.face.metrics(thousandths(), LocationRef::default());
        let bounds = metrics.bounds.unwrap_or_default();
        pdf.font_descriptor(descriptor)
            .name(Name(self.name.as_bytes()))
            .flags(FontFlags::NON_SYMBOLIC)
            .bbox(Rect::new(bounds.x_min, bounds.y_min, bounds.x_max, bounds.y_max))
            .italic_angle(0.0)
            .ascent(metrics.ascent)
            .descent(metrics.descent)
            .cap_height(metrics.cap_height.unwrap_or(metrics.ascent))
            .stem_v(self.stem)
            .font_file2(file);
    }
}
