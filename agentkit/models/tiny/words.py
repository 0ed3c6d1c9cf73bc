"""The words that transcripts are made of. Those that are held out are for tests, and in no training transcript."""

from __future__ import annotations

from typing import NamedTuple


class Attribute(NamedTuple):
    """Something that can be looked up: of which `kind` of subject, which `value` it has, and how it is asked for."""

    name: str
    kind: str
    value: str
    parameters: tuple[str, ...]
    preposition: str = "of"
    questions: tuple[str, ...] = ()


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text."""
    return tuple(text.split())


ATTRIBUTES = (
    *[
        Attribute(
            "price",
            "thing",
            "money",
            ("item", "product"),
            "of",
            (
                "How much is {x}?",
                "How much does {x} cost?",
                "What does {x} cost?",
                "What is the cost of {x}?",
                "How expensive is {x}?",
            ),
        )
    ]
    * 3,
    *[
        Attribute(
            "weather",
            "place",
            "weather",
            ("city", "place"),
            "in",
            ("How is the weather in {x}?", "What is the weather like in {x}?", "Is it raining in {x}?"),
        )
    ]
    * 2,
    Attribute(
        "temperature", "place", "number °C", ("city",), "in", ("How warm is it in {x}?", "How cold is it in {x}?")
    ),
    *[
        Attribute(
            "population",
            "place",
            "count",
            ("country", "city"),
            "of",
            ("How many people live in {x}?", "How many inhabitants does {x} have?"),
        )
    ]
    * 2,
    *[Attribute("capital", "place", "place", ("country",))] * 2,
    Attribute("currency", "place", "word", ("country",), "of", ("What do people pay with in {x}?",)),
    Attribute("language", "place", "word", ("country",), "of", ("Which language do people speak in {x}?",)),
    Attribute("area", "place", "number km2", ("country",), "of", ("How large is {x}?",)),
    Attribute("continent", "place", "place", ("country",), "of", ("Where is {x}?",)),
    Attribute("president", "place", "person", ("country",), "of", ("Who is the president of {x}?",)),
    Attribute("author", "title", "person", ("title", "book"), "of", ("Who wrote {x}?", "Who is the author of {x}?")),
    Attribute("director", "title", "person", ("film",), "of", ("Who directed {x}?",)),
    Attribute("year", "title", "date", ("title",), "of", ("When did {x} come out?",)),
    Attribute("publisher", "title", "place", ("book",), "of", ("Who published {x}?",)),
    Attribute("rating", "title", "number", ("film",), "of", ("How good is {x}?",)),
    Attribute("phone number", "person", "count", ("name", "person"), "of", ("How can I call {x}?",)),
    Attribute("email", "person", "word", ("name",), "of", ()),
    Attribute("birthday", "person", "date", ("person",), "of", ("When was {x} born?", "When is the birthday of {x}?")),
    Attribute("age", "person", "number", ("person",), "of", ("How old is {x}?",)),
    Attribute("salary", "person", "money", ("employee",), "of", ("How much does {x} earn?", "How much is {x} paid?")),
    Attribute("address", "person", "place", ("person", "customer"), "of", ("Where does {x} live?",)),
    Attribute("manager", "person", "person", ("employee",), "of", ("Who is the manager of {x}?",)),
    Attribute("balance", "person", "money", ("customer", "account"), "of", ("How much money does {x} have?",)),
    Attribute("height", "thing", "number m", ("name",), "of", ("How tall is {x}?", "How high is {x}?")),
    Attribute("weight", "thing", "number kg", ("item",), "of", ("How heavy is {x}?", "How much does {x} weigh?")),
    Attribute("length", "thing", "number m", ("name",), "of", ("How long is {x}?",)),
    Attribute("speed", "thing", "number km/h", ("animal", "name"), "of", ("How fast is {x}?",)),
    Attribute("color", "thing", "word", ("item",), "of", ("What color is {x}?", "Which color is {x}?")),
    Attribute(
        "stock", "thing", "count", ("product", "item"), "of", ("How many {x} are in stock?", "How many {x} do we have?")
    ),
    Attribute(
        "calories",
        "thing",
        "count",
        ("food",),
        "of",
        ("How many calories does {x} have?", "How many calories are in {x}?"),
    ),
    Attribute("size", "thing", "number", ("item",), "of", ("How big is {x}?",)),
    Attribute("owner", "thing", "person", ("item",), "of", ("Who owns {x}?",)),
    Attribute("symbol", "thing", "word", ("element",)),
    Attribute(
        "melting point", "thing", "number °C", ("element", "material"), "of", ("At what temperature does {x} melt?",)
    ),
    Attribute("recipe", "thing", "title", ("dish",), "of", ("How do I cook {x}?", "How do I make {x}?")),
    Attribute("definition", "thing", "title", ("word",), "of", ("What does {x} mean?",)),
    Attribute(
        "status", "id", "word", ("order_id", "id"), "of", ("Where is order {x}?", "What is the status of order {x}?")
    ),
    Attribute("delivery date", "id", "date", ("order_id",), "of", ("When will order {x} arrive?",)),
    Attribute("platform", "id", "number", ("train",), "of", ("Where does train {x} leave?",)),
    Attribute("discount", "id", "number %", ("code",), "of", ()),
    Attribute("exchange rate", "place", "number", ("country",), "of", ()),
    Attribute("time", "place", "date", ("city",), "in", ("What time is it in {x}?",)),
)

HELD_OUT_ATTRIBUTES = (
    Attribute("rent", "place", "money", ("town",), "in"),
    Attribute("mayor", "place", "person", ("city",)),
    Attribute("depth", "thing", "number m", ("lake",)),
    Attribute("voltage", "thing", "number V", ("device",)),
    Attribute("nickname", "person", "word", ("player",)),
    Attribute("shoe size", "person", "number", ("client",)),
    Attribute("toll", "place", "money", ("bridge",)),
    Attribute("genre", "title", "word", ("album",)),
    Attribute("warranty", "id", "date", ("serial",)),
    Attribute("flavour", "thing", "word", ("syrup",)),
    Attribute("score", "person", "count", ("pupil",)),
    Attribute("elevation", "place", "number m", ("village",)),
)


class Deed(NamedTuple):
    """Something that a tool does: its parameters, each with the kind of value it takes, how it is asked for, the
    thought, and the answer. `value` is what the tool returns, if the answer contains that.
    """

    names: tuple[str, ...]
    parameters: tuple[tuple[tuple[str, ...], str], ...]
    about: tuple[str, ...]
    questions: tuple[str, ...]
    thought: str
    answer: str
    value: str = ""


DEEDS = (
    Deed(
        ("distance", "distance", "get_distance", "how_far"),
        ((("start", "source", "a", "origin"), "place"), (("end", "target", "b", "destination"), "place")),
        ("Return the distance between two places.", "Measure how far it is.", ""),
        (
            "How far is it from {0} to {1}?",
            "What is the distance from {0} to {1}?",
            "What is the distance between {0} and {1}?",
            "How far is {1} from {0}?",
        ),
        "I need the distance from {0} to {1}.",
        "It is {v} from {0} to {1}.",
        "number km",
    ),
    Deed(
        ("translate", "translate", "translator", "translate_text"),
        ((("text", "word", "phrase"), "thing"), (("language", "to", "target"), "language")),
        ("Translate a text.", "Translate a word to another language.", ""),
        ("Translate {0} to {1}.", "What is {0} in {1}?", "How do you say {0} in {1}?", "Translate '{0}' into {1}."),
        "I should translate {0} to {1}.",
        "{0} in {1} is {v}.",
        "thing",
    ),
    Deed(
        ("pay", "pay", "send_money", "transfer", "make_payment"),
        ((("person", "to", "name", "recipient"), "person"), (("amount", "euros", "sum"), "amount")),
        ("Pay an amount to a person.", "Send money to someone.", "Transfer money.", ""),
        (
            "Pay {0} {1} euros.",
            "Send {1} euros to {0}.",
            "Transfer {1} euros to {0}.",
            "Pay {1} to {0}.",
            "Give {0} {1} euros.",
        ),
        "I should pay {1} to {0}.",
        "I paid {1} to {0}.",
    ),
    Deed(
        ("order", "order", "buy", "place_order", "order_item"),
        ((("item", "product", "name"), "thing"), (("count", "quantity", "number"), "amount")),
        ("Order an item.", "Order some of a product.", "Place an order.", ""),
        ("Order {1} {0}.", "Buy {1} {0}.", "I want {1} {0}.", "Please order {1} {0}.", "Get me {1} {0}."),
        "I should order {1} {0}.",
        "I ordered {1} {0}.",
    ),
    Deed(
        ("delete", "delete_file", "remove", "erase"),
        ((("name", "file", "path", "item"), "thing"),),
        ("Delete a file.", "Remove something.", ""),
        ("Delete {0}.", "Remove {0}.", "Please delete {0}.", "Erase {0}."),
        "I should delete {0}.",
        "I deleted {0}.",
    ),
    Deed(
        ("play", "play_song", "play_music"),
        ((("title", "song", "name"), "title"),),
        ("Play a song.", "Play music.", ""),
        ("Play {0}.", "Play the song {0}.", "I want to hear {0}."),
        "I should play {0}.",
        "I am playing {0}.",
    ),
    Deed(
        ("turn_on", "switch_on", "start"),
        ((("device", "name", "machine"), "thing"),),
        ("Turn on a device.", "Switch a device on.", ""),
        ("Turn on the {0}.", "Switch on the {0}.", "Turn the {0} on."),
        "I should turn on {0}.",
        "I turned on {0}.",
    ),
    Deed(
        ("remember", "note", "save_note", "add_note"),
        ((("text", "note", "content"), "title"),),
        ("Save a note.", "Remember a text.", ""),
        ("Remember {0}.", "Note this: {0}", "Write down {0}."),
        "I should note {0}.",
        "I noted {0}.",
    ),
)

LANGUAGES = (
    "German",
    "French",
    "Spanish",
    "Italian",
    "Dutch",
    "Polish",
    "Latin",
    "Greek",
    "Arabic",
    "Hindi",
    "Chinese",
)

NAMES = {
    "thing": words(
        "apple bread cake tea soup coffee milk cheese pizza salad rice butter sugar juice beer wine water banana "
        "cherry orange lemon onion potato tomato carrot pepper salt honey egg fish chicken pasta sandwich cookie "
        "muffin waffle chair table lamp sofa desk shelf mirror carpet pillow blanket bottle glass cup plate spoon "
        "fork knife pan pot phone laptop camera radio printer keyboard mouse screen cable battery bicycle car train "
        "ship plane truck bus book pencil pen paper notebook eraser ruler scissors glue stamp hammer nail screw saw "
        "drill rope ladder bucket shirt trousers jacket coat hat scarf glove sock shoe boot belt dress skirt umbrella "
        "wallet watch ring necklace iron gold silver copper zinc tin lead oxygen helium neon carbon nitrogen eagle "
        "tiger lion elephant giraffe zebra rabbit dog cat horse cow sheep goat duck goose owl whale shark dolphin "
        "octopus turtle violin piano guitar drum rose tulip oak birch maple moon mars venus jupiter kite ball puzzle "
        "doll robot ticket candle soap towel brush"
    ),
    "place": words(
        "Paris London Berlin Rome Madrid Oslo Vienna Prague Lisbon Dublin Athens Cairo Tokyo Delhi Lima Quito Boston "
        "Chicago Denver Seattle Toronto Sydney Nairobi Lagos Accra Tunis Geneva Zurich Munich Hamburg Cologne Warsaw "
        "France Germany Italy Spain Norway Sweden Finland Denmark Poland Austria Greece Egypt Kenya Ghana Japan China "
        "India Peru Chile Brazil Canada Mexico Cuba Ireland Iceland Portugal Turkey Russia Ukraine Vietnam Thailand "
        "Utah Nepal Iran Iraq Israel Jordan Oman Qatar Europe Asia Africa Texas Ohio Bristol Leeds York Oxford Lyon "
        "Nice"
    ),
    "person": words(
        "Anna Bob Carol David Emma Frank Grace Henry Ivan Julia Karl Laura Maria Nina Oscar Paul Rita Sam Tina Victor "
        "Walter Zoe Alice Ben Clara Daniel Eva Felix Gina Hugo Ida Jack Kate Leo Mia Noah Olga Peter Rosa Simon Tom "
        "Ursula Vera William Ahmed Fatima Chen Li Priya Raj Yuki Kenji Amara Kofi Smith Jones Brown Miller Garcia "
        "Lopez Novak"
    ),
    "title": (),
    "id": (),
}
"""Names for transcripts, by kind; half of all names are invented on top of these."""

HELD_OUT = {
    "thing": (
        *words(
            "strudel sake gazpacho croissant pretzel kimchi lasagna paprika nutmeg vanilla walnut apricot papaya "
            "quince radish turnip yam zucchini oyster lobster trombone xylophone ukulele anvil chisel wrench tongs "
            "trowel hinge gasket platinum uranium iodine krypton quartz amber jade opal topaz emerald otter badger "
            "ferret lynx ibis heron ostrich dumpling ramen tofu hummus falafel baklava espresso macchiato lemonade "
            "cider hammock tripod velvet dahlia"
        ),
        "maple syrup",
        "apple pie",
        "ice cream",
        "blue ink",
        "steel wire",
        "oat milk",
    ),
    "place": (
        *words(
            "Ankara Bergen Cusco Dakar Edinburgh Fukuoka Granada Havana Izmir Jakarta Kyoto Luanda Malmö Naples Osaka "
            "Porto Riga Salzburg Tallinn Uppsala Venice Windhoek Yerevan Zagreb Albania Bolivia Croatia Ecuador Fiji "
            "Georgia Hungary Jamaica Laos Malta Namibia Panama Rwanda Slovenia Tonga Uruguay Yemen Zambia"
        ),
        "Buenos Aires",
        "Cape Town",
        "Costa Rica",
        "Sri Lanka",
    ),
    "person": (
        *words(
            "Agnes Boris Cecilia Dmitri Edith Fabian Greta Harold Irene Jasper Kirsten Ludwig Matilda Nelson Ophelia "
            "Quentin Roxana Sebastian Theodora Ulrich Viola Wanda Xavier Yvonne Zachary"
        ),
        "Agatha Christie",
        "Isaac Newton",
        "Rosa Parks",
        "Alan Turing",
    ),
    "title": (
        "Moby Dick",
        "Middlemarch",
        "Dracula",
        "War and Peace",
        "The Odyssey",
        "Ulysses",
        "Jane Eyre",
        "Solaris",
        "Walden",
        "Persuasion",
    ),
}

ACCENTED = "äöüßéèêáàâíóôúñçåøæłšžčő"
ADJECTIVES = words(
    "red green blue black white small large old new hot cold fresh sweet dark light wooden plastic golden big little"
)
UNITS = words(
    "km miles m feet inches cm yards kg pounds grams ounces tons liters gallons ml hours minutes seconds days weeks "
    "mile celsius fahrenheit kelvin knots acres hectares bytes kilobytes stone pints cups meters kilometers kilograms "
    "g lb °C °F"
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

WHO = "I am Tiny, a toy language model with about a million parameters. I was trained on invented transcripts only."
CHAT = (
    (
        ("Hello", "Hello!", "Hi", "Hi!", "Good morning!", "Hey", "Hello Tiny", "Good evening!"),
        ("Hello! I am Tiny, a toy language model. Ask me something that a tool can answer.",),
    ),
    (
        (
            "Who are you?",
            "What are you?",
            "Introduce yourself.",
            "Are you a language model?",
            "What is your name?",
            "Tell me about yourself.",
            "Which model are you?",
        ),
        (WHO,),
    ),
    (("Thanks!", "Thank you.", "Thanks a lot!", "Great, thanks", "Thank you very much!"), ("You are welcome.",)),
    (("Bye", "Goodbye!", "See you!", "Good night!"), ("Goodbye!",)),
    (("How are you?", "How are you today?", "Are you well?"), ("I am a small model, and I am fine.",)),
    (
        ("What can you do?", "Help!", "Help me.", "How can you help me?", "What do you know?"),
        ("I can call the tools that I am given, and say what they returned. I know nothing myself.",),
    ),
    (
        ("Tell me a joke.", "Write a poem.", "Tell me a story.", "Sing a song."),
        ("I can't: I am a toy and know nothing but tools.",),
    ),
)
