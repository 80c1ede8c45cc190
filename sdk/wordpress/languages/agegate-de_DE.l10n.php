<?php
return ["domain" => "agegate", "language" => "de_DE", "messages" => [
    "Please press the button on this site." => "Bitte drücken Sie den Knopf auf dieser Website.",
    "Too many checks were begun. Please try again later."
        => "Es wurden zu viele Prüfungen begonnen. Bitte versuchen Sie es später noch einmal.",
    "The age check cannot be reached. Please try again later."
        => "Die Altersprüfung ist nicht erreichbar. Bitte versuchen Sie es später noch einmal.",
    "Your age could not be confirmed here. Please press the button again, in this browser."
        => "Ihr Alter konnte hier nicht bestätigt werden. Bitte drücken Sie den Knopf noch einmal, in diesem Browser.",
    "This page is for visitors of %d years or older." => "Diese Seite ist für Besucher ab %d Jahren.",
    "This needs a pass of the age check." => "Das verlangt eine bestandene Altersprüfung.",
    "Something in your basket needs an age check first. Open its page to begin."
        => "Etwas in Ihrem Warenkorb verlangt zuerst eine Altersprüfung. Öffnen Sie seine Seite, um zu beginnen.",
    "Confirm my age" => "Mein Alter bestätigen",
    "Nothing here is called %s." => "Hier heißt nichts %s.",
    "The gateway's address must begin with https:// or http://."
        => "Die Adresse des Gateways muss mit https:// oder http:// beginnen.",
    "The value for %s is damaged. Copy it again." => "Der Wert für %s ist beschädigt. Kopieren Sie ihn noch einmal.",
    "The address and the live key are right. The secrets are proved by the first real check only."
        => "Die Adresse und der Live-Schlüssel stimmen. Die Geheimnisse beweist erst die erste echte Prüfung.",
    "The address, the key and this site's host are right."
        => "Die Adresse, der Schlüssel und der Host dieser Website stimmen.",
    "The gateway's page for visitors does not answer this server."
        => "Die Seite des Gateways für Besucher antwortet diesem Server nicht.",
    "The redirect secret is right." => "Das Redirect-Geheimnis stimmt.",
    "The redirect secret is wrong: take the one of test mode from the page Redirect secret."
        => "Das Redirect-Geheimnis ist falsch: Nehmen Sie das des Testmodus von der Seite „Redirect-Geheimnis“.",
    "there is none here" => "hier steht keines",
    "The webhook secret is right." => "Das Webhook-Geheimnis stimmt.",
    "The webhook secret is wrong: %s." => "Das Webhook-Geheimnis ist falsch: %s.",
    "The webhook arrives." => "Der Webhook kommt an.",
    "The webhook does not arrive. Its address is %s." => "Der Webhook kommt nicht an. Seine Adresse ist %s.",
    "No gateway answers at the address." => "Unter der Adresse antwortet kein Gateway.",
    "The key is wrong or revoked." => "Der Schlüssel ist falsch oder widerrufen.",
    "The gateway refuses this tenant: it is disabled, or has no checks left."
        => "Das Gateway lehnt diesen Mandanten ab: Er ist gesperrt oder hat keine Prüfungen mehr.",
    "The host %s is not registered: add it under Settings, Callback URLs, in the gateway."
        => "Der Host %s ist nicht eingetragen: Tragen Sie ihn im Gateway in den Einstellungen ein, als Callback-URL.",
    "Today's test sessions are used up." => "Die Testsitzungen für heute sind verbraucht.",
    "What answers at the address is no gateway." => "Was unter der Adresse antwortet, ist kein Gateway.",
    "Age check" => "Altersprüfung",
    "Nothing is gated yet." => "Noch ist nichts geschützt.",
    "This is a test key: every visitor can choose the outcome. Use a live key for visitors."
        => "Das ist ein Testschlüssel: Jeder kann das Ergebnis wählen. Für Besucher brauchen Sie einen Live-Schlüssel.",
    "The gateway's address" => "Adresse des Gateways",
    "API key" => "API-Schlüssel",
    "Redirect secret" => "Redirect-Geheimnis",
    "Webhook secret" => "Webhook-Geheimnis",
    "Stored. Leave it empty to keep it." => "Gespeichert. Leer lassen, um es zu behalten.",
    "Gate the whole site" => "Die ganze Website schützen",
    "Or these kinds of pages" => "Oder diese Arten von Seiten",
    "Categories, tags and product types" => "Kategorien, Schlagwörter und Produkttypen",
    "Single pages, by address or number, with all below them"
        => "Einzelne Seiten, nach Adresse oder Nummer, mit allem darunter",
    "Pages that stay free when the whole site is gated"
        => "Seiten, die frei bleiben, wenn die ganze Website geschützt ist",
    "Actions of admin-ajax that stay free" => "Aktionen von admin-ajax, die frei bleiben",
    "REST namespaces of other plug-ins that stay free" => "REST-Namensräume anderer Plug-ins, die frei bleiben",
    "Members who count as adults, by name or e-mail address"
        => "Mitglieder, die als erwachsen gelten, nach Name oder E-Mail-Adresse",
    "Age" => "Alter",
    "Hours that a pass lasts in a browser" => "Stunden, die eine bestandene Prüfung im Browser gilt",
    "Days that a pass lasts with an account; 0: not at all"
        => "Tage, die eine bestandene Prüfung mit dem Konto gilt; 0: gar nicht",
    "Checks begun in half an hour" => "Begonnene Prüfungen in einer halben Stunde",
    "The same, by one network" => "Dasselbe aus einem Netz",
    "Test it" => "Ausprobieren",
    "Register %1\$s as Success URL and Cancel URL, and %2\$s as Webhook URL."
        => "Tragen Sie %1\$s als Success-URL und Cancel-URL ein, und %2\$s als Webhook-URL.",
]];
