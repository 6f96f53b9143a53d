//! Who may ask: `Require`, and the older `Order`, `Allow`, `Deny`. All or none so far; what names
//! users, hosts or addresses is refused, for to ignore it would let everybody in.

use super::row::*;
use crate::Order;

const LIMITED: &str =
    "users, hosts and addresses are not checked yet, and to ignore this would let everybody in";

pub const GROUP: Group = Group {
    title: "Access",
    rows: &[
        Directive::everywhere(
            "Require",
            words("all granted|denied", 1, ANY),
            "Lets everybody in, or nobody.",
            require,
        )
        .otherwise("all granted")
        .example("all denied", "valid-user"),
        Directive::everywhere(
            "Order",
            words("Deny,Allow|Allow,Deny", 1, 2),
            "Which of Allow and Deny has the last word.",
            order,
        )
        .otherwise("Deny,Allow")
        .example("Allow,Deny", "Allow"),
        Directive::everywhere(
            "Allow",
            words("from all", 2, ANY),
            "Lets everybody in.",
            |target, arguments| {
                from_all(arguments)?;
                target.changes.push(Change::AllowFromAll);
                Ok(())
            },
        )
        .example("from all", "from 10.0.0.0/8"),
        Directive::everywhere(
            "Deny",
            words("from all", 2, ANY),
            "Lets nobody in.",
            |target, arguments| {
                from_all(arguments)?;
                target.changes.push(Change::DenyFromAll);
                Ok(())
            },
        )
        .example("from all", "from example.com"),
        Directive::everywhere(
            "Satisfy",
            Shape::Choice(&["All"]),
            "All that is required must be met.",
            |_, _| Ok(()),
        )
        .otherwise("All")
        .example("All", "Any"),
    ],
};

fn require(target: &mut Target, arguments: &Arguments) -> Applied {
    let words: Vec<String> = arguments
        .words
        .iter()
        .map(|word| word.text.to_ascii_lowercase())
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["all", "granted"] | ["not", "all", "denied"] => target.changes.push(Change::Require(true)),
        ["all", "denied"] | ["not", "all", "granted"] => {
            target.changes.push(Change::Require(false))
        }
        ["all", ..] => return Err(arguments.fault(1, "expected `all granted` or `all denied`")),
        _ => {
            let shown = &arguments.words[0].text;
            let message =
                format!("expected `all granted` or `all denied`, not `{shown}`: {LIMITED}");
            return Err(arguments.fault(0, message));
        }
    }
    Ok(())
}

fn order(target: &mut Target, arguments: &Arguments) -> Applied {
    let words = arguments
        .words
        .iter()
        .map(|word| word.text.to_ascii_lowercase());
    let order = match words.collect::<String>().as_str() {
        "deny,allow" => Order::DenyAllow,
        "allow,deny" => Order::AllowDeny,
        other => {
            return Err(arguments.fault(
                0,
                format!("expected Deny,Allow or Allow,Deny, not `{other}`"),
            ))
        }
    };
    target.changes.push(Change::Order(order));
    Ok(())
}

fn from_all(arguments: &Arguments) -> Applied {
    if !arguments.text(0)?.eq_ignore_ascii_case("from") {
        return Err(arguments.fault(0, "expected `from all`"));
    }
    for index in 1..arguments.words.len() {
        let text = arguments.text(index)?;
        if !text.eq_ignore_ascii_case("all") {
            return Err(arguments.fault(index, format!("expected `all`, not `{text}`: {LIMITED}")));
        }
    }
    Ok(())
}
