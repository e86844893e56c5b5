//! An invoice on paper: who sells what to whom, line by line, and what of it is
//! to be paid. The same invoice always gives the same bytes.

mod font;
mod paper;
#[cfg(test)]
mod tests;

use contract::{
    billing_profiles::Party,
    invoices::{Invoice, InvoiceKind, InvoiceLine},
    prices::PriceUnit,
};
use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use kernel::money::Currency;
use paper::{HEIGHT, Paper, Style, WIDTH, Weight};

use super::{decimal, quantity};

#[derive(Debug, thiserror::Error)]
pub enum PrintError {
    #[error("the font is malformed")]
    Font,
    #[error("the document has too many pages")]
    Long,
}

const LEFT: f32 = 56.0;
const RIGHT: f32 = WIDTH - 56.0;
const TOP: f32 = 64.0;
/// Nothing but the footer stands below.
const BOTTOM: f32 = HEIGHT - 76.0;

const TEXT: Style = Style { size: 9.0, weight: Weight::Regular, gray: 0.0 };
const STRONG: Style = Style { weight: Weight::Bold, ..TEXT };
const FAINT: Style = Style { size: 8.0, weight: Weight::Regular, gray: 0.4 };
const TITLE: Style = Style { size: 22.0, weight: Weight::Bold, gray: 0.0 };

/// Where the columns of the table end, and the first begin: with a tag there are three of those.
const SKU: f32 = 230.0;
const TAG: f32 = 152.0;
const SKU_AFTER_TAG: f32 = 238.0;
const HOURS: f32 = 366.0;
const PRICE: f32 = 452.0;

/// The first letter of a text that the typefaces lack.
pub fn unprintable(text: &str) -> Option<char> {
    let paper = Paper::new().ok()?;
    text.chars().find(|it| !paper.has(*it))
}

pub fn render(invoice: &Invoice) -> Result<Vec<u8>, PrintError> {
    let mut sheet = Sheet { paper: Paper::new()?, invoice, y: TOP };
    sheet.head();
    sheet.parties();
    sheet.table();
    sheet.sums();
    sheet.notes();
    sheet.footers();
    let title = sheet.title();
    sheet.paper.finish(&title)
}

struct Sheet<'a> {
    paper: Paper,
    invoice: &'a Invoice,
    /// How far down the newest page is filled.
    y: f32,
}

impl Sheet<'_> {
    fn is_credit_note(&self) -> bool {
        self.invoice.kind == InvoiceKind::CreditNote
    }

    fn title(&self) -> String {
        let what = if self.is_credit_note() { "Credit note" } else { "Invoice" };
        format!("{what} {}", self.invoice.number)
    }

    fn head(&mut self) {
        let invoice = self.invoice;
        let word = if self.is_credit_note() { "Credit note" } else { "Invoice" };
        self.paper.text(LEFT, self.y + 14.0, word, TITLE);
        let last = invoice.period_end - SignedDuration::from_micros(1);
        let mut facts = vec![("Number", invoice.number.clone())];
        facts.extend(invoice.corrects.iter().map(|it| ("Corrects invoice", it.clone())));
        facts.push(("Date of issue", day(invoice.issued_at)));
        facts.push(("Service period (UTC)", format!("{} – {}", day(invoice.period_start), day(last))));
        facts.push(("Currency", invoice.currency.to_string()));
        let mut y = self.y;
        facts.extend(invoice.tag_key.iter().map(|it| ("Lines by tag", it.to_string())));
        for (name, value) in facts {
            self.paper.text_to(RIGHT - 132.0, y, name, FAINT);
            for line in self.paper.broken(&value, 122.0, STRONG) {
                self.paper.text(RIGHT - 122.0, y, &line, STRONG);
                y += 14.0;
            }
        }
        self.y = y + 26.0;
    }

    fn parties(&mut self) {
        let middle = (LEFT + RIGHT) / 2.0 + 8.0;
        let top = self.y;
        let seller = self.party(LEFT, top, "Seller", &self.invoice.seller.clone());
        let buyer = self.party(middle, top, "Bill to", &self.invoice.buyer.clone());
        self.y = seller.max(buyer) + 26.0;
    }

    /// Says where it ends.
    fn party(&mut self, x: f32, top: f32, heading: &str, party: &Party) -> f32 {
        let width = (RIGHT - LEFT) / 2.0 - 16.0;
        self.paper.text(x, top, heading, FAINT);
        let mut y = top + 15.0;
        let mut put = |sheet: &mut Self, text: &str, style: Style| {
            for line in sheet.paper.broken(text, width, style) {
                sheet.paper.text(x, y, &line, style);
                y += 13.0;
            }
        };
        put(self, &party.legal_name, STRONG);
        for line in &party.address {
            put(self, line, TEXT);
        }
        if let Some(id) = &party.tax_id {
            put(self, &format!("Tax ID {id}"), TEXT);
        }
        if let Some(email) = &party.email {
            put(self, email, TEXT);
        }
        y
    }

    fn table(&mut self) {
        self.headings();
        for (index, line) in self.invoice.lines.iter().enumerate() {
            if index > 0 {
                self.paper.rule(LEFT, RIGHT, self.y - 11.5, 0.3, 0.8);
            }
            self.line(line);
        }
        self.paper.rule(LEFT, RIGHT, self.y - 6.0, 0.8, 0.0);
    }

    fn headings(&mut self) {
        let y = self.y;
        self.paper.text(LEFT, y, "Project", STRONG);
        if let Some(key) = &self.invoice.tag_key {
            let fits = self.paper.width(key.as_str(), STRONG) <= SKU_AFTER_TAG - TAG - 10.0;
            self.paper.text(TAG, y, if fits { key.as_str() } else { "Tag" }, STRONG);
        }
        self.paper.text(self.sku(), y, "SKU", STRONG);
        self.paper.text_to(HOURS, y, "Quantity", STRONG);
        self.paper.text_to(PRICE, y, "Unit price", STRONG);
        self.paper.text_to(RIGHT, y, &format!("Amount {}", self.invoice.currency), STRONG);
        self.paper.rule(LEFT, RIGHT, y + 7.0, 0.8, 0.0);
        self.y = y + 22.0;
    }

    fn line(&mut self, line: &InvoiceLine) {
        // What has no such tag shows a dash.
        let tag = line.tag.as_deref().map(|it| if it.is_empty() { "–" } else { it });
        let first_ends = if tag.is_some() { TAG } else { SKU };
        let mut cells = vec![(LEFT, self.paper.broken(&line.project, first_ends - LEFT - 12.0, TEXT))];
        cells.extend(tag.map(|it| (TAG, self.paper.broken(it, SKU_AFTER_TAG - TAG - 10.0, TEXT))));
        cells.push((self.sku(), self.paper.broken(&line.sku, HOURS - self.sku() - 58.0, TEXT)));
        let rows = cells.iter().map(|it| it.1.len()).max().unwrap_or(1);
        self.make_room(rows as f32 * 12.0 + 10.0);
        let top = self.y;
        for (x, texts) in &cells {
            for (index, text) in texts.iter().enumerate() {
                self.paper.text(*x, top + index as f32 * 12.0, text, TEXT);
            }
        }
        let (unit, per) = units(line);
        self.paper.text_to(HOURS, top, &format!("{} {unit}", grouped(&quantity(line, 4))), TEXT);
        self.paper.text_to(PRICE, top, &format!("{}{per}", price(line.price_micros)), TEXT);
        self.paper.text_to(RIGHT, top, &grouped(&decimal(line.amount_micros, 6)), TEXT);
        let bottom = top + (rows - 1) as f32 * 12.0;
        self.y = bottom + 17.0;
    }

    /// Where the column of SKUs begins.
    fn sku(&self) -> f32 {
        if self.invoice.tag_key.is_some() { SKU_AFTER_TAG } else { SKU }
    }

    /// Goes on over leaf when there is too little room; the table with its headings.
    fn make_room(&mut self, height: f32) {
        if self.y + height > BOTTOM {
            self.over_leaf();
            self.headings();
        }
    }

    fn over_leaf(&mut self) {
        self.paper.add_page();
        self.y = TOP;
    }

    fn sums(&mut self) {
        let invoice = self.invoice;
        // What is to be paid stands together on one page.
        if self.y + 130.0 > BOTTOM {
            self.over_leaf();
        }
        self.y += 8.0;
        let places = minor_places(invoice.currency.as_str());
        let minor = |micros: i64| grouped(&decimal(micros, places));
        self.sum("Subtotal", &grouped(&decimal(invoice.subtotal_micros, 6)), TEXT);
        self.sum("Rounding", &grouped(&decimal(invoice.rounding_micros, 6)), TEXT);
        self.sum("Net", &minor(invoice.net_micros), TEXT);
        let tax = invoice.tax.as_ref();
        let rate = tax.map_or(0, |it| i64::from(it.basis_points) * 10_000);
        let name = tax.map_or("Tax", |it| it.name.as_str());
        self.sum(&format!("{name} {} %", trimmed(&decimal(rate, 2), 0)), &minor(invoice.tax_micros), TEXT);
        self.paper.rule(HOURS - 60.0, RIGHT, self.y - 8.5, 0.8, 0.0);
        self.y += 4.0;
        let large = Style { size: 11.0, ..STRONG };
        self.sum(&format!("Total {}", invoice.currency), &minor(invoice.total_micros), large);
        self.y += 3.0;
        if self.is_credit_note() {
            self.sum("Credited to the prepaid balance", &minor(-invoice.total_micros), TEXT);
        } else {
            self.sum("Paid from the prepaid balance", &minor(-invoice.paid_micros), TEXT);
            self.sum("Amount due", &minor(invoice.due_micros), STRONG);
        }
    }

    fn sum(&mut self, name: &str, amount: &str, style: Style) {
        self.paper.text_to(PRICE, self.y, name, style);
        self.paper.text_to(RIGHT, self.y, amount, style);
        self.y += 15.0;
    }

    fn notes(&mut self) {
        let invoice = self.invoice;
        let mut notes: Vec<String> = invoice.tax.iter().filter_map(|it| it.note.clone()).collect();
        if invoice.due_micros > 0 {
            notes.push("The amount due is settled by topping up the prepaid balance.".into());
        }
        notes.push("Lines are exact to a millionth; the sum is rounded once.".into());
        self.y += 18.0;
        for note in notes {
            for line in self.paper.broken(&note, RIGHT - LEFT, FAINT) {
                if self.y > BOTTOM {
                    self.over_leaf();
                }
                self.paper.text(LEFT, self.y, &line, FAINT);
                self.y += 12.0;
            }
        }
    }

    fn footers(&mut self) {
        let y = HEIGHT - 44.0;
        let left = format!("{} · {}", self.invoice.seller.legal_name, self.title());
        let left = self.paper.broken(&left, RIGHT - LEFT - 80.0, FAINT).swap_remove(0);
        let count = self.paper.pages();
        for page in 0..count {
            let right = format!("Page {} of {count}", page + 1);
            let width = self.paper.width(&right, FAINT);
            self.paper.text_on(page, LEFT, y, &left, FAINT);
            self.paper.text_on(page, RIGHT - width, y, &right, FAINT);
        }
    }
}

fn day(moment: Timestamp) -> String {
    moment.to_zoned(TimeZone::UTC).strftime("%Y-%m-%d").to_string()
}

/// Decimals of a currency's smallest coin.
fn minor_places(currency: &str) -> u32 {
    let unit = currency.parse::<Currency>().map_or(10_000, |it| it.micros_per_minor_unit());
    6 - unit.max(1).ilog10().min(6)
}

/// The unit of a line's quantity, and of how many its price is if not of one.
fn units(line: &InvoiceLine) -> (&'static str, String) {
    let unit = match line.unit.known() {
        Some(PriceUnit::GpuHour) => "GPU-h",
        Some(PriceUnit::Hour) => "h",
        Some(PriceUnit::GibHour) => "GiB-h",
        Some(PriceUnit::Request) => "requests",
        Some(PriceUnit::Token) => "tokens",
        Some(PriceUnit::Job) => "jobs",
        None => "",
    };
    let per = match line.per_units {
        1 => String::new(),
        1_000_000 => " /1M".to_owned(),
        1_000 => " /1k".to_owned(),
        many => format!(" /{many}"),
    };
    (unit, per)
}

/// A price with as many decimals as it has, and two at least.
fn price(micros: i64) -> String {
    grouped(&trimmed(&decimal(micros, 6), 2))
}

/// Drops zeros at the end, but for so many decimals.
fn trimmed(number: &str, keep: usize) -> String {
    let Some((whole, decimals)) = number.split_once('.') else { return number.to_owned() };
    let end = decimals.trim_end_matches('0').len().max(keep);
    if end == 0 { whole.to_owned() } else { format!("{whole}.{}", &decimals[..end]) }
}

/// With a comma between thousands.
fn grouped(number: &str) -> String {
    let (sign, number) = number.strip_prefix('-').map_or(("", number), |it| ("-", it));
    let (whole, rest) = number.find('.').map_or((number, ""), |at| number.split_at(at));
    let mut text = String::from(sign);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text + rest
}
