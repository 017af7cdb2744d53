//! A cap per paying wallet and window, for sellers who want one. What is on its way counts as spent, and what has no known end does so
//! however long ago it began.

use crate::address::Address;
use crate::amount::Amount;
use crate::error::{Code, Error};
use crate::json::Json;
use crate::network::Network;
use crate::time::{self, Seconds};

use super::kept::Sale;
use super::rows::{Fault, Rows};
use super::Config;

/// So much of one token within so many seconds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cap {
    network: Network,
    asset: Address,
    amount: Amount,
    window: Seconds,
}

impl Cap {
    /// Reads `{network, asset, amount, window}`. Errors: those of the members, `number_out_of_range` (a window of nothing).
    pub fn from_json(json: &Json) -> Result<Cap, Error> {
        let window = json.read("window", Json::as_u64)?;
        if window == 0 {
            return Err(Error::new(Code::NumberOutOfRange, "window"));
        }
        Ok(Cap {
            network: json.read("network", Network::from_json)?,
            asset: json.read("asset", Address::from_json)?,
            amount: json.read("amount", Amount::from_json)?,
            window,
        })
    }

    /// What [`Cap::from_json`] reads.
    pub fn to_json(&self) -> Json {
        Json::object([
            ("network", self.network.to_json()),
            ("asset", self.asset.to_json()),
            ("amount", self.amount.to_json()),
            ("window", Json::number(self.window)),
        ])
    }
}

struct Spend {
    sale: String,
    network: Network,
    asset: Address,
    amount: Amount,
    at: Seconds,
    /// What became of it is not known yet.
    open: bool,
}

impl Spend {
    fn of(sale: &Sale, open: bool, now: Seconds) -> Result<Spend, Error> {
        let payment = sale.payment()?;
        Ok(Spend {
            sale: sale.id().to_owned(),
            network: payment.network.clone(),
            asset: payment.asset,
            amount: payment.authorization.value,
            at: now,
            open,
        })
    }

    fn counts(&self, window: Seconds, now: Seconds) -> bool {
        self.open || now.saturating_sub(self.at) < window
    }
}

/// The row of a wallet.
pub fn key(payer: &Address) -> String {
    format!("wallet/{payer}")
}

/// Counts the sale's payment as spent, when every cap allows it; false when one does not, and nothing is written.
pub fn reserve(rows: &mut Rows, sale: &Sale, config: &Config, now: Seconds) -> Result<bool, Fault> {
    let mut spends = load(rows, &sale.record.request.payer)?;
    spends.retain(|spend| spend.sale != sale.id());
    spends.push(Spend::of(sale, true, now)?);
    let within = |cap: &Cap| {
        let counted = spends.iter().filter(|spend| {
            (&spend.network, spend.asset) == (&cap.network, cap.asset) && spend.counts(cap.window, now)
        });
        let sum = counted
            .map(|spend| spend.amount)
            .try_fold(Amount::ZERO, Amount::checked_add);
        sum.is_some_and(|sum| sum <= cap.amount)
    };
    if !config.caps.iter().all(within) {
        return Ok(false);
    }
    save(rows, sale, spends, config, now)?;
    Ok(true)
}

/// The payment of a sale moved: it counts for the window from now on, also where the sale was called failed before. To be called
/// before the sale says so: what it says already is counted already.
pub fn spent(rows: &mut Rows, sale: &Sale, config: &Config, now: Seconds) -> Result<(), Fault> {
    if !config.capped() || sale.transaction.is_some() {
        return Ok(());
    }
    let mut spends = load(rows, &sale.record.request.payer)?;
    spends.retain(|spend| spend.sale != sale.id());
    spends.push(Spend::of(sale, false, now)?);
    save(rows, sale, spends, config, now)
}

/// Gives the reservation of a sale that failed back.
pub fn release(rows: &mut Rows, sale: &Sale, config: &Config, now: Seconds) -> Result<(), Fault> {
    if !config.capped() {
        return Ok(());
    }
    let mut spends = load(rows, &sale.record.request.payer)?;
    spends.retain(|spend| spend.sale != sale.id());
    save(rows, sale, spends, config, now)
}

fn load(rows: &Rows, payer: &Address) -> Result<Vec<Spend>, Fault> {
    let spend = |json: &Json| -> Result<Spend, Error> {
        Ok(Spend {
            sale: json.read("sale", Json::as_string)?,
            network: json.read("network", Network::from_json)?,
            asset: json.read("asset", Address::from_json)?,
            amount: json.read("amount", Amount::from_json)?,
            at: json.read("at", time::parse_seconds)?,
            open: json.read_opt("open", Json::as_bool)?.unwrap_or(false),
        })
    };
    match rows.get(&key(payer))? {
        None => Ok(Vec::new()),
        Some(row) => Ok(row.read("spends", |list| list.as_list(spend))?),
    }
}

/// Writes what still counts for the longest window. The row may go once that is over, and not while anything is open.
fn save(
    rows: &mut Rows,
    sale: &Sale,
    mut spends: Vec<Spend>,
    config: &Config,
    now: Seconds,
) -> Result<(), Fault> {
    let longest = config.caps.iter().map(|cap| cap.window).max().unwrap_or(0);
    spends.retain(|spend| spend.counts(longest, now));
    let open = spends.iter().any(|spend| spend.open);
    let due = (!open).then(|| now.saturating_add(longest));
    let one = |spend: &Spend| {
        Json::object([
            ("sale", Json::text(spend.sale.as_str())),
            ("network", spend.network.to_json()),
            ("asset", spend.asset.to_json()),
            ("amount", spend.amount.to_json()),
            ("at", Json::number(spend.at)),
        ])
        .with_some("open", spend.open.then_some(Json::Bool(true)))
    };
    let row = Json::object([("spends", Json::Array(spends.iter().map(one).collect()))]);
    rows.put(&key(&sale.record.request.payer), row, due)
}
