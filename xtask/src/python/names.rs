//! From the contract's names to Python's: a method drops the noun that its
//! resource says already, and no name is a word of the language.

const RESERVED: &[&str] = &[
    "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except",
    "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise",
    "return", "try", "while", "with", "yield", "self",
];

/// A name that Python takes; the decoder takes the underscore off again.
pub fn safe(name: &str) -> String {
    if RESERVED.contains(&name) { format!("{name}_") } else { name.to_owned() }
}

/// `CreateServiceAccountKey` of `service_accounts` is `create_key`.
pub fn method(operation: &str, tag: &str) -> String {
    let words = words(operation);
    let noun: Vec<&str> = tag.split('_').collect();
    let found = words.windows(noun.len()).position(|at| is_noun(at, &noun));
    let kept: Vec<&str> = match found {
        Some(at) if words.len() > noun.len() => {
            words[..at].iter().chain(&words[at + noun.len()..]).map(String::as_str).collect()
        }
        _ => words.iter().map(String::as_str).collect(),
    };
    safe(&kept.join("_"))
}

/// `service_accounts` is the class `ServiceAccounts`, and `not_found` `NotFound`.
pub fn class(name: &str) -> String {
    name.split('_').map(|word| format!("{}{}", word[..1].to_uppercase(), &word[1..])).collect()
}

fn words(camel: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for letter in camel.chars() {
        match words.last_mut() {
            Some(word) if !letter.is_ascii_uppercase() => word.push(letter),
            _ => words.push(letter.to_ascii_lowercase().to_string()),
        }
    }
    words
}

fn is_noun(words: &[String], noun: &[&str]) -> bool {
    let last = noun.len() - 1;
    words.iter().zip(noun).enumerate().all(|(at, (word, wanted))| {
        word == wanted || (at == last && [format!("{word}s"), plural_y(word)].iter().any(|many| many == wanted))
    })
}

fn plural_y(word: &str) -> String {
    word.strip_suffix('y').map(|stem| format!("{stem}ies")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_does_not_repeat_its_resource() {
        for (operation, tag, expected) in [
            ("CreateAllocation", "allocations", "create"),
            ("SetAllocationSshKeys", "allocations", "set_ssh_keys"),
            ("ListAllAllocations", "allocations", "list_all"),
            ("CreateServiceAccountKey", "service_accounts", "create_key"),
            ("GetOrganizationPolicy", "policies", "get_organization"),
            ("ListWebhookDeliveries", "webhook_deliveries", "list"),
            ("WhoAmI", "users", "who_am_i"),
            ("ImportWork", "work", "import_"),
        ] {
            assert_eq!(method(operation, tag), expected);
        }
    }
}
