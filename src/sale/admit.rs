//! The first step of a paid request: which sale it is, and what is to be done with it.

use crate::admission::{self, Admission, AdmissionRecord, AdmissionRequest, State};
use crate::error::{Code, Error, Money, Next};
use crate::json::Json;
use crate::order::Event;
use crate::problem::Problem;
use crate::time::Seconds;

use super::kept::{self, Header, Payment, Row, Sale};
use super::presented::Presented;
use super::quoted::{self, Quoted};
use super::rows::{Fault, Rows};
use super::told::{self, Told};
use super::tripwire::Keyed;
use super::{wallet, Config};

/// What the host knows of the request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Input {
    /// The payment.
    pub presented: Presented,
    /// Its bytes.
    pub header: Header,
    /// Keyed hashes of its id, by the current key and older ones.
    pub ids: Vec<String>,
    order: Option<String>,
    keyed: Option<Keyed>,
}

impl Input {
    /// Reads `{presented, header: {name, value}, ids, order?, keyed?}`, the last as [`Keyed::from_json`] reads it.
    pub fn from_json(json: &Json) -> Result<Input, Error> {
        let ids = json.read("ids", |list| list.as_list(Json::as_string))?;
        if ids.is_empty() {
            return Err(Error::new(Code::MissingField, "ids"));
        }
        Ok(Input {
            presented: json.read("presented", Presented::from_json)?,
            header: json.read("header", |header| {
                Ok((
                    header.read("name", Json::as_string)?,
                    header.read("value", Json::as_string)?,
                ))
            })?,
            ids,
            order: json.read_opt("order", Json::as_string)?,
            keyed: json.read_opt("keyed", Keyed::from_json)?,
        })
    }

    /// The rows that are looked at first.
    pub fn keys(&self, config: &Config) -> Vec<String> {
        let mut keys: Vec<String> = self.ids.iter().map(|id| kept::key(id)).collect();
        keys.push(self.slot());
        keys.extend(self.order.as_deref().map(quoted::key));
        keys.extend(self.keyed.as_ref().map(Keyed::row));
        keys.extend(config.capped().then(|| wallet::key(&self.presented.payer)));
        keys
    }

    fn slot(&self) -> String {
        let Presented {
            network,
            asset,
            authorization,
            ..
        } = &self.presented;
        kept::slot_key(network, asset, &authorization.from, &authorization.nonce)
    }

    /// The id under which a new sale is kept.
    fn id(&self) -> &str {
        self.ids.first().map_or("", String::as_str)
    }
}

/// The sale of a request.
struct Found {
    sale: Box<Sale>,
    /// The request's own id does not lead to it yet.
    other_id: bool,
    /// It is the same call under another payment id.
    same_call: bool,
}

/// The decision. Errors: those of the rows; whatever is wrong with the request itself is a problem in the result.
pub fn admit(rows: &mut Rows, input: &Input, config: &Config, now: Seconds) -> Result<Told, Fault> {
    let order = match &input.order {
        Some(id) => match Quoted::load(rows, id) {
            Err(Fault::Error(error)) if error.code == Code::OrderInvalid && error.field == "order" => {
                return Ok(Told::problem(
                    Problem::new(Code::QuoteNotOpen).with_money(Money::None),
                ));
            }
            found => Some(found?),
        },
        None => None,
    };
    let found = match find(rows, input, order.as_ref(), now)? {
        Ok(found) => found,
        Err(foreign) => return Ok(told::conflict(&foreign, &["paymentId"])),
    };
    if let Some(refusal) = order.as_ref().and_then(|order| not_theirs(order, input, now)) {
        return Ok(Told::problem(refusal));
    }
    let quote_hash = match (&order, &found) {
        (Some(order), _) => quoted::terms_hash(&order.order.id, &quoted::Terms::of(&input.presented))?,
        // The same call is the same purchase, at whatever price it is offered by now.
        (None, Some(found)) if found.same_call => found.sale.record.request.quote_hash,
        (None, _) => input.presented.quote_hash,
    };
    let other_id = found.as_ref().is_some_and(|found| found.other_id);
    let mut sale = found.map(|found| found.sale);
    if let Some(sale) = sale.as_mut() {
        retire(rows, sale, config, now)?;
    }
    let id = sale.as_ref().map_or(input.id(), |sale| sale.id()).to_owned();
    let request = kept::request(&input.presented, &id, quote_hash);
    let poll = config.poll(&input.presented.id);
    let record = sale.as_ref().map(|sale| &sale.record);
    let decision = admission::admit(record, &request, now, Some(config.lease), Some(&poll))?;
    match (decision, sale) {
        (Admission::Process(record), sale) => {
            let sale = begin(sale.map(|sale| *sale), record, input, config);
            open(rows, sale, order, input, config, now)
        }
        (Admission::Conflict { differs, .. }, Some(sale)) => {
            let told = told::conflict(&sale, &differs);
            match &input.keyed {
                // One id with other arguments: an id reused, or a rule that leaves too much of them in.
                Some(keyed) => Ok(told.with_alerts(keyed.look(rows, input.id(), now)?)),
                None => Ok(told),
            }
        }
        (Admission::InFlight(problem), Some(sale)) => {
            remember_alias(rows, *sale, other_id, input, config)?;
            Ok(Told::problem(problem))
        }
        (Admission::Replay(_), Some(sale)) => {
            let told = replay(&sale, input, config);
            remember_alias(rows, *sale, other_id, input, config)?;
            Ok(told)
        }
        // Too large to be kept, or kept until its retention was over.
        (Admission::Receipt(_), Some(sale)) if sale.record.state == State::Delivered => {
            Ok(told::not_stored(&sale, config))
        }
        (Admission::Receipt(receipt), _) => Ok(told::expired(&receipt, config)),
        (Admission::Reconcile(_), Some(mut sale)) => {
            let asked = AdmissionRequest {
                authorizations: Vec::new(),
                ..request
            };
            match admission::take_over(&sale.record, &asked, now, Some(config.lease)) {
                Err(error) if error.code == Code::PaymentInFlight => {
                    return Ok(Told::problem(in_flight(&poll)?));
                }
                taken => sale.record = taken?,
            }
            sale.turn += 1;
            let undelivered = order.is_some_and(|order| !order.is_delivered());
            let told = match sale.record.state {
                State::Settled if undelivered => told::refund_owed(),
                State::Settled => told::process(&sale, config)?,
                _ => told::read(&sale, "latest"),
            };
            save(rows, &sale, config)?;
            Ok(told)
        }
        // Nothing but a conflict, a wait or a repetition is said of no record.
        (_, None) => Err(Error::new(Code::StateInvalid, "record").into()),
    }
}

/// The in-flight answer of a request that is not answered by its record.
pub fn in_flight(poll: &str) -> Result<Problem, Error> {
    Problem::new(Code::PaymentInFlight)
        .with_retry_after(5)
        .with_poll(poll)
}

/// The sale of the request, none yet, or the sale under another id that the payment in the header belongs to.
#[allow(clippy::type_complexity)]
fn find(
    rows: &Rows,
    input: &Input,
    order: Option<&Quoted>,
    now: Seconds,
) -> Result<Result<Option<Found>, Box<Sale>>, Fault> {
    let mut own = None;
    for id in &input.ids {
        if let Some(sale) = load(rows, id)? {
            own = Some(Found {
                other_id: input.id() != id,
                same_call: sale.id() != id && input.keyed.is_some(),
                sale,
            });
            break;
        }
    }
    if let Some(row) = rows.get(&input.slot())? {
        let holder = row.read("sale", Json::as_string)?;
        let known = own.as_ref().is_some_and(|own| own.sale.id() == holder);
        if !known {
            let holder = load(rows, &holder)?;
            return Ok(Err(holder.ok_or_else(|| Error::new(Code::RecordInvalid, "sale"))?));
        }
    }
    if own.is_some() {
        return Ok(Ok(own));
    }
    let other = |sale, same_call| Found {
        sale,
        other_id: true,
        same_call,
    };
    if let Some(keyed) = &input.keyed {
        if let Some(row) = rows.get(&keyed.row())? {
            let id = row.read("sale", Json::as_string)?;
            if now < row.read("until", Json::as_u64)? {
                if let Some(sale) = load(rows, &id)? {
                    return Ok(Ok(Some(other(sale, true))));
                }
            }
        }
    }
    if let Some(id) = order.and_then(|order| order.sale.as_deref()) {
        if let Some(sale) = load(rows, id)? {
            if sale.record.request.payer == input.presented.payer {
                return Ok(Ok(Some(other(sale, false))));
            }
        }
    }
    Ok(Ok(None))
}

/// The sale of an id, behind an alias too.
pub fn load(rows: &Rows, id: &str) -> Result<Option<Box<Sale>>, Fault> {
    let Some(row) = rows.get(&kept::key(id))? else {
        return Ok(None);
    };
    match Row::from_json(row)? {
        Row::Sale(sale) => Ok(Some(sale)),
        Row::Alias(id) => match rows.get(&kept::key(&id))?.map(Row::from_json).transpose()? {
            Some(Row::Sale(sale)) => Ok(Some(sale)),
            _ => Err(Error::new(Code::RecordInvalid, "alias").into()),
        },
    }
}

/// Past its retention only the receipt is left, whether anything swept or not.
pub fn retire(rows: &mut Rows, sale: &mut Sale, config: &Config, now: Seconds) -> Result<(), Fault> {
    if sale.record.state == State::Delivered && now >= sale.kept_until(config.retention) {
        sale.record.state = State::Expired;
        sale.record.response = None;
        rows.delete(&kept::answer_key(sale.id()))?;
        save(rows, sale, config)?;
    }
    Ok(())
}

/// Writes a sale.
pub fn save(rows: &mut Rows, sale: &Sale, config: &Config) -> Result<(), Fault> {
    rows.put(&kept::key(sale.id()), sale.to_json(), sale.due(config.retention))
}

/// A quote is for its buyer, and one payer at a time; a stranger hears that it is not to be had.
fn not_theirs(order: &Quoted, input: &Input, _: Seconds) -> Option<Problem> {
    let stranger = order.buyer.is_some_and(|buyer| buyer != input.presented.payer);
    stranger.then(|| {
        Problem::new(Code::QuoteNotOpen)
            .with_money(Money::None)
            .with_next(Next::Requote)
    })
}

fn begin(known: Option<Sale>, record: AdmissionRecord, input: &Input, config: &Config) -> Sale {
    let payment = Payment::new(&input.presented, input.header.clone());
    let mut sale = match known {
        None => Sale::open(record, payment, input.presented.chosen, input.order.clone()),
        Some(mut sale) => {
            sale.record = record;
            sale.turn += 1;
            sale.refused = None;
            sale.use_payment(payment);
            sale
        }
    };
    // Where nobody tells when a broadcast begins, it may have begun from now on.
    sale.broadcasts = u64::from(!config.watched);
    sale
}

/// The row of the payment, the move of the order, the reservation in the wallet's cap: in one transaction, before any work.
fn open(
    rows: &mut Rows,
    sale: Sale,
    order: Option<Quoted>,
    input: &Input,
    config: &Config,
    now: Seconds,
) -> Result<Told, Fault> {
    if let Some(mut order) = order {
        let pay = Event::Pay {
            payment_id: sale.id().to_owned(),
            quote_hash: sale.record.request.quote_hash,
        };
        match order.advance(&pay, now) {
            Err(error) => {
                let problem = Problem::new(error.code);
                // An earlier payment of a sale that failed may still land.
                return Ok(Told::problem(match sale.turn {
                    1 => problem.with_money(Money::None),
                    _ => problem,
                }));
            }
            Ok(()) => order.sale = Some(sale.id().to_owned()),
        }
        order.save(rows)?;
    }
    if config.capped() && !wallet::reserve(rows, &sale, config, now)? {
        rows.forget();
        return Ok(Told::problem(Problem::new(Code::OverWalletCap).with_status(403)));
    }
    let pointer = Json::object([("sale", Json::text(sale.id()))]);
    rows.put(&input.slot(), pointer.clone(), None)?;
    let mut alerts = Vec::new();
    if let Some(keyed) = &input.keyed {
        let until = now.saturating_add(keyed.window);
        let row = pointer.with("until", Json::number(until));
        rows.put(&keyed.row(), row, Some(until))?;
        alerts = keyed.look(rows, input.id(), now)?;
    }
    let told = told::process(&sale, config)?.with_alerts(alerts);
    let other_id = sale.id() != input.id();
    match other_id && sale.aliases.len() < MAX_ALIASES {
        true => remember_alias(rows, sale, true, input, config)?,
        false => save(rows, &sale, config)?,
    }
    Ok(told)
}

/// Another id that led to the sale leads there from now on, and stands on its receipt.
fn remember_alias(
    rows: &mut Rows,
    mut sale: Sale,
    other: bool,
    input: &Input,
    config: &Config,
) -> Result<(), Fault> {
    if !other || sale.aliases.len() >= MAX_ALIASES {
        return Ok(());
    }
    let alias = Json::object([("alias", Json::text(sale.id()))]);
    rows.put(&kept::key(input.id()), alias, None)?;
    sale.aliases.push(input.id().to_owned());
    super::receipt::add_alias(rows, &sale, input.id())?;
    save(rows, &sale, config)
}

/// Ids that are remembered of one purchase; a client that makes up more is answered all the same.
const MAX_ALIASES: usize = 64;

/// The stored answer, for whoever shows that they are the payer. A payment without an id that was broadcast stands on the
/// chain for everyone to copy, so that one shows nothing.
fn replay(sale: &Sale, input: &Input, config: &Config) -> Told {
    let own_slot = sale
        .payments
        .iter()
        .any(|payment| payment.slot_key() == input.slot());
    match !sale.chosen && own_slot && !config.replay_unnamed {
        true => told::not_stored(sale, config),
        false => told::replay(sale, config),
    }
}
