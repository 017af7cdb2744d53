//! What was signed and sent: the signatures, their terms, the header that carried them, and the nonces.

use crate::authorization::{Authorization, Method};
use crate::error::{Code, Error};
use crate::intent;
use crate::mpp::charge;
use crate::receipt::checks::Checks;
use crate::receipt::material;
use crate::receipt::record::{Attempt, Quote, Record};
use crate::x402::payment_required::{Signing, Terms};

/// What was signed and sent, over every attempt: each check shows the first that fails, else the last.
pub(super) fn signed(record: &Record, checks: &mut Checks) -> Result<(), Error> {
    const IDS: [&str; 5] = [
        "authorization.terms",
        "authorization.domain",
        "authorization.nonce",
        "payment.header",
        "signature",
    ];
    if record.attempts.is_empty() {
        IDS.iter()
            .for_each(|id| checks.missing(id, "Nothing was signed."));
        return Ok(());
    }
    let mut each = Vec::new();
    let attempts = record.attempts.iter().enumerate();
    let slots = attempts
        .flat_map(|(index, attempt)| (0..).zip(attempt.slots()).map(move |slot| (index, attempt, slot)));
    for (index, whole, (part, attempt)) in slots {
        let mut one = checks.beside();
        let quote = record.quote_of(attempt);
        match quote.map(|quote| (quote, quote.offered.terms())) {
            Some((quote, Ok(terms))) => {
                terms_signed(record, attempt, part, &terms, &mut one)?;
                header(whole, quote, &mut one);
            }
            Some((_, Err(error))) => one.fail("authorization.terms", error.code.meaning()),
            None => one.fail(
                "authorization.terms",
                "The offer that it pays is not in the record.",
            ),
        }
        match &attempt.authorization {
            Authorization::Eip3009(_, domain) => material::domain(&mut one, domain),
            // It was read as Permit2's own, which is the same for every token.
            Authorization::Permit2(..) => one.pass("authorization.domain"),
            Authorization::Tempo(_) => {
                one.skip("authorization.domain", "A transaction is signed under no domain.")
            }
        }
        nonce(record, attempt, part, &mut one)?;
        match attempt.signature {
            Some(signature) => {
                let signed = &attempt.authorization;
                let signer = signed.recover(signature);
                let own = signer.as_ref().is_ok_and(|signer| *signer == signed.from());
                // Whoever says that the payer is a contract can't have its signature called verified by that, nor forged.
                let signer = match record.contract_wallet && !own {
                    true => Err(Error::new(Code::ContractSignature, "")),
                    false => signer,
                };
                material::signed_by(&mut one, "signature", &signed.from(), signer);
            }
            None if attempt.given => {
                one.missing(
                    "signature",
                    "Another actor signed it: its own journal has the signature.",
                );
            }
            None if Some(index) == record.paying() => {
                one.missing("signature", "This attempt was never signed.");
            }
            None => one.skip("signature", "An attempt that was never signed."),
        }
        each.push(one);
    }
    IDS.iter().for_each(|id| checks.worst(id, &each));
    Ok(())
}

fn terms_signed(
    record: &Record,
    attempt: &Attempt,
    part: u64,
    terms: &Terms,
    checks: &mut Checks,
) -> Result<(), Error> {
    let share = usize::try_from(part).ok().and_then(|part| terms.shares.get(part));
    let Some(share) = share else {
        checks.fail("authorization.terms", "The offer asks for fewer parts.");
        return Ok(());
    };
    let signed = &attempt.authorization;
    // One transaction pays every share.
    let due = match signed {
        Authorization::Tempo(_) => terms.amount,
        _ => share.amount,
    };
    let network = signed.network()?;
    let domain = match (signed, &terms.signing) {
        (Authorization::Eip3009(_, domain), Signing::Eip3009(offered)) => domain == offered,
        (Authorization::Permit2(permit, _), Signing::Permit2 | Signing::Upto(_)) => {
            let facilitator = match terms.signing {
                Signing::Upto(facilitator) => Some(facilitator),
                _ => None,
            };
            (&network, signed.asset()) == (&terms.network, terms.asset) && permit.facilitator == facilitator
        }
        (Authorization::Tempo(order), Signing::Tempo(due)) => {
            (&network, signed.asset()) == (&terms.network, terms.asset) && order.pays(due)
        }
        _ => false,
    };
    let equal = (signed.from(), signed.to(), signed.value()) == (record.principal, share.to, due) && domain;
    checks.compare("authorization.terms", equal, || {
        let due = format!(
            "{due} of {} on {} from {} to {}",
            terms.asset, terms.network, record.principal, share.to
        );
        let signed = format!(
            "{} of {} on {network} from {} to {}",
            signed.value(),
            signed.asset(),
            signed.from(),
            signed.to()
        );
        (due, signed)
    });
    Ok(())
}

fn header(attempt: &Attempt, quote: &Quote, checks: &mut Checks) {
    const ID: &str = "payment.header";
    let (Some((name, value)), Some(signature)) = (attempt.header, attempt.signature) else {
        // Whether that matters, the check of its signature says.
        return checks.skip(ID, "This attempt was never sent.");
    };
    let parts = attempt
        .parts
        .iter()
        .map(|part| (&part.authorization, part.signature.unwrap_or_default()));
    let signed: Vec<_> = core::iter::once((&attempt.authorization, signature))
        .chain(parts)
        .collect();
    let built = quote.offered.payment(&signed, attempt.payment_id);
    let built = built.and_then(|payment| Ok((payment.name, payment.content.to_canonical()?)));
    let sent = quote
        .offered
        .content(value)
        .and_then(|content| content.to_canonical());
    match (built, sent) {
        (Ok((expected, built)), Ok(sent)) if name == expected && built == sent => checks.pass(ID),
        (Err(error), _) | (_, Err(error)) => checks.fail(ID, error.code.meaning()),
        _ => checks.fail(ID, "The header holds something else than was signed for."),
    }
}

fn nonce(record: &Record, attempt: &Attempt, part: u64, checks: &mut Checks) -> Result<(), Error> {
    const ID: &str = "authorization.nonce";
    let quote = record.quote_of(attempt);
    if let Some(challenge) = quote.and_then(|quote| quote.offered.challenge()) {
        let signed = attempt.authorization.nonce();
        let dictated = match attempt.authorization.method() {
            Method::Tempo => charge::memo(challenge, None),
            Method::Eip3009 | Method::Permit2 => challenge.nonce(),
        };
        checks.equal_bytes(ID, &dictated, &signed);
        return Ok(());
    }
    if record.keyed {
        checks.skip(
            ID,
            "It is keyed with the payer's secret, which is not in the bundle.",
        );
        return Ok(());
    }
    let signed = &attempt.authorization;
    let (network, asset) = (signed.network()?, signed.asset());
    let payer = record.principal;
    let (id, generation) = (record.intent_id, attempt.generation);
    let derive = match signed.method() {
        Method::Eip3009 => intent::authorization_nonce,
        Method::Permit2 => intent::permit2_nonce,
        Method::Tempo => {
            checks.fail(ID, "Only a challenge is paid so.");
            return Ok(());
        }
    };
    let expected = derive(id, &payer, &network, &asset, generation, part, None)?;
    checks.equal_bytes(ID, &expected, &signed.nonce());
    Ok(())
}
