//! Sheets of paper: texts and rules at places, over as many pages as it takes.
//! Places are points from the left and from the top of the page.

use pdf_writer::{Content, Finish, Name, Pdf, Rect, Ref, Str, TextStr};

use super::{PrintError, font::Font};

pub const WIDTH: f32 = 595.28;
pub const HEIGHT: f32 = 841.89;

const REGULAR: &[u8] = include_bytes!("fonts/NotoSans-Regular.ttf");
const BOLD: &[u8] = include_bytes!("fonts/NotoSans-Bold.ttf");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    Regular,
    Bold,
}

/// How a text is set.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    pub size: f32,
    pub weight: Weight,
    /// Zero is black.
    pub gray: f32,
}

pub struct Paper {
    regular: Font,
    bold: Font,
    pages: Vec<Content>,
}

impl Paper {
    pub fn new() -> Result<Self, PrintError> {
        let regular = Font::new("AAAAAA+NotoSans-Regular", REGULAR, 90.0)?;
        let bold = Font::new("BBBBBB+NotoSans-Bold", BOLD, 140.0)?;
        Ok(Self { regular, bold, pages: vec![Content::new()] })
    }

    pub fn has(&self, letter: char) -> bool {
        self.regular.has(letter) && self.bold.has(letter)
    }

    pub fn add_page(&mut self) {
        self.pages.push(Content::new());
    }

    pub fn pages(&self) -> usize {
        self.pages.len()
    }

    pub fn width(&self, text: &str, style: Style) -> f32 {
        match style.weight {
            Weight::Regular => self.regular.width(text, style.size),
            Weight::Bold => self.bold.width(text, style.size),
        }
    }

    /// Sets a text from `x` on, on the newest page.
    pub fn text(&mut self, x: f32, y: f32, text: &str, style: Style) {
        let page = self.pages.len() - 1;
        self.text_on(page, x, y, text, style);
    }

    /// Sets a text that ends at `x`.
    pub fn text_to(&mut self, x: f32, y: f32, text: &str, style: Style) {
        let width = self.width(text, style);
        self.text(x - width, y, text, style);
    }

    pub fn text_on(&mut self, page: usize, x: f32, y: f32, text: &str, style: Style) {
        let (name, font) = match style.weight {
            Weight::Regular => (Name(b"R"), &mut self.regular),
            Weight::Bold => (Name(b"B"), &mut self.bold),
        };
        let glyphs = font.encode(text);
        let content = &mut self.pages[page];
        content.begin_text().set_fill_gray(style.gray).set_font(name, style.size);
        content.next_line(x, HEIGHT - y).show(Str(&glyphs)).end_text();
    }

    /// Draws a line from left to right.
    pub fn rule(&mut self, from: f32, to: f32, y: f32, thickness: f32, gray: f32) {
        let page = self.pages.len() - 1;
        let content = &mut self.pages[page];
        content.set_fill_gray(gray).rect(from, HEIGHT - y, to - from, thickness).fill_nonzero();
    }

    /// Breaks a text into lines of at most so wide: between words, or within a long one.
    pub fn broken(&self, text: &str, width: f32, style: Style) -> Vec<String> {
        let mut lines = vec![String::new()];
        for word in text.split_inclusive(' ') {
            let last = lines.len() - 1;
            if self.width((lines[last].clone() + word).trim_end(), style) <= width {
                lines[last].push_str(word);
                continue;
            }
            if !lines[last].is_empty() {
                lines.push(String::new());
            }
            for letter in word.chars() {
                let last = lines.len() - 1;
                if !lines[last].is_empty() && self.width(&format!("{}{letter}", lines[last]), style) > width {
                    lines.push(String::new());
                }
                let last = lines.len() - 1;
                lines[last].push(letter);
            }
        }
        lines.into_iter().map(|it| it.trim_end().to_owned()).collect()
    }

    /// The document. The same calls give the same bytes: it holds no time and no chance.
    pub fn finish(self, title: &str) -> Result<Vec<u8>, PrintError> {
        let (catalog, tree, info, regular, bold, first) = (1, 2, 3, 4, 9, 14);
        let count = i32::try_from(self.pages.len()).map_err(|_| PrintError::Long)?;
        let mut pdf = Pdf::new();
        let mut root = pdf.catalog(Ref::new(catalog));
        root.pages(Ref::new(tree)).lang(TextStr("en"));
        root.viewer_preferences().display_doc_title(true);
        root.finish();
        pdf.document_info(Ref::new(info)).title(TextStr(title)).producer(TextStr("gpuaas"));
        let page_at = |index: i32| Ref::new(first + 2 * index);
        pdf.pages(Ref::new(tree)).kids((0..count).map(page_at)).count(count);
        for (index, content) in (0..count).zip(self.pages) {
            let body = Ref::new(first + 2 * index + 1);
            let mut page = pdf.page(page_at(index));
            page.parent(Ref::new(tree)).media_box(Rect::new(0.0, 0.0, WIDTH, HEIGHT)).contents(body);
            let mut resources = page.resources();
            resources.fonts().pair(Name(b"R"), Ref::new(regular)).pair(Name(b"B"), Ref::new(bold));
            resources.finish();
            page.finish();
            pdf.stream(body, &content.finish());
        }
        self.regular.write(&mut pdf, regular)?;
        self.bold.write(&mut pdf, bold)?;
        Ok(pdf.finish())
    }
}
