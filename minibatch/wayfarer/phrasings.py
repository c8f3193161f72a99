"""How agents type: the phrasings of each kind of question, without and with a client's file open.
`questions.query` fills in the fields. Wayfarer has seen these phrasings and no others."""


def _lines(text: str) -> tuple[str, ...]:
    return tuple(text.strip().splitlines())


WITHOUT_CLIENT = {
    "visa": _lines("""
Does a traveller with {a} {passport} passport need a visa for {country}?
Visa for {city}, {passport} passport?
{passport} passport, going to {city}: visa or not?
Is a visa needed for {country} on {a} {passport} passport?
Can someone with {a} {passport} passport enter {country} without a visa?
{country} visa rules for {a} {passport} passport?
Do I tell {a} {passport} passport holder to get a visa for {city}?
"""),
    "flight": _lines("""
Which airline flies to {city}, and for how much?
Flight to {city}?
How long is the flight to {city}?
What does a ticket to {city} cost?
How do we get someone to {city}?
Airline, hours and fare for {city}?
Price of a return flight to {city}?
"""),
    "months": _lines("""
When is the best time to visit {city}?
Best months for {city}?
Which months should I suggest for {city}?
When should one go to {city}?
Season for {city}?
What time of year is {city} at its best?
"""),
    "hotel_price": _lines("""
What does {hotel} in {city} cost?
How much is a night at {hotel}?
Price of {hotel} in {city}?
{hotel}, {city}: how much a night?
Tell me about {hotel}.
Is {hotel} in {city} expensive?
"""),
    "hotel_pick": _lines("""
Best hotel in {city} under {limit} euros?
Which hotel in {city} for at most {limit} euros a night?
A hotel in {city}, limit {limit} euros, please.
What can I book in {city} for {limit} euros a night?
{city}, {limit} euros a night: which hotel?
Someone wants to pay at most {limit} euros a night in {city}. Which hotel?
"""),
    "hotels": _lines("""
Compare our hotels in {city}.
Which hotels do we have in {city}?
What are the three hotels in {city}, with prices?
Hotel comparison for {city}, please.
Where can one stay in {city}?
Hotels in {city}: districts, prices, extras?
How do our hotels in {city} differ?
"""),
    "dinner": _lines("""
Where is a good {diet}dinner in {city}?
A {diet}restaurant in {city}?
Which restaurant in {city} for a {diet}dinner?
{city}, {diet}dinner: where?
Recommend a {diet}restaurant in {city}.
Someone asks for a {diet}dinner in {city}. Where, and how much?
"""),
    "dish": _lines("""
What should one eat in {city}?
Local dish of {city}?
What is {city} famous for at the table?
Which dish should nobody miss in {city}?
What do people eat in {city}?
Typical food in {city}?
"""),
    "sights": _lines("""
Name {n} sights in {city}.
{n} things to see in {city}?
Give me {n} sights for {city}.
What are {n} good sights in {city}?
List {n} things to do in {city}.
Which {n} sights in {city} come first?
"""),
    "summary": _lines("""
Sum up a trip to {city}.
Give me a short summary for {city}.
What should I tell a caller about {city}?
{city} in a few sentences?
The essentials for {city}, please.
A caller is curious about {city}. What do I say?
"""),
    "briefing": _lines("""
{city}: {parts}?
Tell me the {parts} for {city}.
I need {parts} for {city}.
For {city}, please give me {parts}.
{parts} for {city}, please.
Quick check for {city}: {parts}.
"""),
    "itinerary": _lines("""
Plan {days} in {city}.
{days} in {city}, please.
Itinerary for {city}, {days}.
What can one do in {city} in {days}?
I need a plan for {days} in {city}.
Make an itinerary of {days} for {city}.
A caller wants {days} in {city}. What is the plan?
{city} for {days}: one line a day.
"""),
}

WITH_CLIENT = {
    "visa": _lines("""
Does {first} need a visa for {country}?
Visa for {city}?
Does the client need a visa for {city}?
{first} wants to go to {city}. Visa or not?
Can {name} enter {country} without a visa?
Check the visa for {country}.
"""),
    "flight": _lines("""
How does {first} get to {city}?
Flight to {city}?
Which airline takes {first} to {city}, and for how much?
What does a ticket to {city} cost {name}?
Airline, hours and fare for {city}?
The client asks how long the flight to {city} is.
"""),
    "months": _lines("""
When should {first} go to {city}?
Best months for {city}?
Which months do I suggest to {name} for {city}?
The client asks when to visit {city}.
Season for {city}?
{first} wants to see {city} at its best. When?
"""),
    "hotel_price": _lines("""
Can {first} afford {hotel}?
How much is a night at {hotel}?
Is {hotel} in {city} within the limit?
{first} saw {hotel} in {city}. What does it cost?
Price of {hotel} for {name}?
The client asks about {hotel}. Does it fit?
"""),
    "hotel_pick": _lines("""
Which hotel in {city} should {first} take?
Best hotel in {city} for this client?
Find {name} a hotel in {city}.
Hotel for {first} in {city}?
Where should {first} stay in {city}?
The client needs a hotel in {city}. Which one?
"""),
    "hotels": _lines("""
Compare the hotels in {city} for {first}.
Which of our hotels in {city} suit the client?
Hotels in {city} for {name}, with prices?
Which hotels in {city} are within the limit?
{first} wants to choose a hotel in {city}. What are the options?
Hotel comparison for {city}, please.
"""),
    "dinner": _lines("""
Where can {first} have dinner in {city}?
A restaurant in {city} for this client?
Which restaurant in {city} for {name}?
Dinner in {city}?
{first} asks where to eat in {city}.
Recommend a dinner in {city}. Mind the diet.
"""),
    "dish": _lines("""
What should {first} eat in {city}?
Local dish of {city}?
Which dish do I mention to {name} for {city}?
The client asks what {city} is famous for at the table.
Typical food in {city}?
{first} is curious about the food in {city}.
"""),
    "sights": _lines("""
Name {n} sights in {city} for {first}.
{n} things to see in {city}?
{first} wants to see {n} sights in {city}. Which?
Give the client {n} sights for {city}.
List {n} things that {name} can do in {city}.
Which {n} sights in {city} come first?
"""),
    "summary": _lines("""
Sum up a trip to {city} for {first}.
{first} wants to go to {city}. The essentials, please.
What should I tell {name} about {city}?
Give me a short summary for {city}.
The client is thinking of {city}. What do I say?
{city} for {first}, in a few sentences?
"""),
    "briefing": _lines("""
{city} for {first}: {parts}?
Tell me the {parts} for {city}.
{first} asks about {city}: {parts}.
{name} needs {parts} for {city}.
For {city}, please give me {parts}.
The client wants {parts} for {city}.
"""),
    "itinerary": _lines("""
Plan {days} in {city} for {first}.
{days} in {city}, please.
{first} wants {days} in {city}. What is the plan?
Itinerary for {name}: {city}, {days}.
The client has {days} for {city}. Make an itinerary.
Make an itinerary of {days} in {city}.
What can {first} do in {city} in {days}?
"""),
    "name": _lines("""
Who is the client?
Whose file is this?
Name of the client?
Who am I speaking with?
Which client is on the phone?
What is the client called?
"""),
    "passport": _lines("""
Which passport does {first} have?
Passport of the client?
What is the nationality of {name}?
Which passport is in the file?
Look up the passport.
What passport will {first} travel on?
"""),
    "diet": _lines("""
What does {first} eat?
Diet of the client?
Does {name} keep a diet?
Which diet is in the file?
Look up the diet.
The client is hungry. What diet do I mind?
"""),
    "limit": _lines("""
What may a hotel cost for {first}?
Hotel limit of the client?
How much does {name} pay for a night?
Which limit is in the file?
Look up the hotel limit.
What is the most that the client pays for a hotel?
"""),
    "history": _lines("""
Where did {first} go in {year}?
Which trip did the client make in {year}?
What did {name} book with us in {year}?
{first} in {year}: where, and which hotel?
Look up the trip of {year}.
The client mentions a trip in {year}. Where was it?
"""),
    "trips": _lines("""
Where has {first} been with us?
List the client's past trips.
Which cities does {name} know already?
Past trips of {first}?
Sum up the travel history.
What trips are in the file?
"""),
}
