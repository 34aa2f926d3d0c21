"""The sentences that ingestion says to people, as messages of the catalogue; only values.

A test holds that every refusal of ingestion is made of them.
"""

from __future__ import annotations

from typing import Final

from bot.domain.texts import marked

SENTENCES: Final = (
    marked("{page} is not a page of the space {space}."),
    marked("Use the address that the browser shows, or the page's id."),
    marked("{page} is a page of the space {space}, not of {other}."),
    marked("Confluence shows no space {space}."),
    marked("Check its key, and that the account of CONFLUENCE_TOKEN may view it."),
    marked(
        "Confluence stopped showing the space {space} while it was read; what is indexed of it "
        "was kept."
    ),
    marked("Check that the account of CONFLUENCE_TOKEN may still view it."),
    marked("Confluence shows no space {space}; what is indexed of it was kept."),
    marked("Check that it still is there and that the account of CONFLUENCE_TOKEN may view it."),
    marked(
        "Confluence showed {count} pages of the space {space} and then did not, besides {others} "
        "that it kept showing; what is indexed was kept."
    ),
    marked("Check what the account of CONFLUENCE_TOKEN may view, and read the space again."),
    marked("There is no document {name} in this space."),
    marked("The space {space} is reserved for reviewed answers."),
    marked("Choose another space."),
    marked("The content of {name} doesn't match its name."),
    marked("Rename it to {other}, or send other content."),
    marked("{name} was not uploaded: remove it where it comes from, and reindex the space."),
    marked("The space {space} has another source and takes no uploads."),
    marked("Choose another one."),
    marked("There is already a space {space}."),
    marked("Use that spelling."),
    marked("{text} is not a valid space name."),
    marked(
        "Use up to 100 letters, digits, '.', '_', '-' or '~', and begin with a letter, a digit or "
        "'~'."
    ),
    marked("The name {name} is empty."),
    marked("Give the file a name."),
    marked("The name {name} has a path in it."),
    marked("Send the file's own name only."),
    marked("The name {name} begins with a dot, which hides a file."),
    marked("Rename it."),
    marked("The name {name} ends with a dot."),
    marked("The name {name} has characters that can't be seen."),
    marked("The name {name} is too long."),
    marked("Use at most {most} characters ({bytes} bytes)."),
    marked("The content begins with front matter."),
    marked("Send its title, labels and readers as fields, and the content without it."),
    marked("There is no run {run}."),
    marked("There is no readable page at {page}."),
    marked("Check the address, and whether its space is one that is read."),
    marked("A run over the space {space} is under way."),
    marked("A run over all spaces is under way."),
    marked("Wait until it ends, or cancel it."),
    marked("The source of the space {space} is unknown."),
    marked("Name it once: python -m ingestion folder PATH --space KEY."),
    marked("There is no uploaded document {name}."),
    marked("Another upload to {space} is still running."),
    marked("Try again in a minute."),
    marked("Readers {text} cannot be understood; {cure}."),
    marked("Reader {text} cannot be understood; {cure}."),
    marked("Readers {text} mix names and lists; {cure}."),
    marked("An inner list of readers is empty; {cure}."),
    marked("Nobody may read this answer, so it can't be a page."),
    marked(
        "Who may read this answer must be in several groups at once, which no restriction of a "
        "page can express."
    ),
    marked("Choose one group as its readers."),
    marked("{names} is nobody that Confluence knows."),
    marked("Choose readers who are people or groups of Confluence."),
    marked("The token is nobody's."),
    marked("Set CONFLUENCE_TOKEN to a new one."),
    marked("CONFLUENCE_ANSWERS_PARENT={page} is no page that the token may view."),
    marked("Write a page's id or address."),
    marked("Anybody in the world may view the space {space}."),
    marked("Choose a parent in a space that colleagues alone may view."),
    marked("Not everybody who may read this answer may view {page}."),
    marked(
        "Choose another parent (CONFLUENCE_ANSWERS_PARENT), fewer readers, or say who everyone is "
        "(CONFLUENCE_EVERYONE_GROUPS)."
    ),
    marked(
        "More people may read this answer than its page {page} lets in, and they could read its "
        "earlier versions."
    ),
    marked("Remove the page, and publish the answer again."),
    marked("Confluence does not show the restrictions that were set, so nothing was written."),
    marked("Let the token's account add pages and restrictions there (docs/confluence.md)."),
    marked("Somebody edited {page} since it was published."),
    marked(
        "Take over what they changed into the answer and remove the page, then publish it again."
    ),
    marked("The space has another page {page}."),
    marked("Word the question otherwise."),
    marked("Somebody edited the page at the same time."),
    marked("Look at it, then publish again."),
    marked("The token may not do this."),
    marked("Another run works on space {space}, on {host}; wait until it ends."),
    marked("Another run works on space {space}; wait until it ends."),
    marked(
        "The run over space {space} was silent for so long that another may work there; it stopped."
    ),
    marked("What it wrote stays, and the next run goes on."),
    marked(
        "{removed} of {indexed} {kind} of space {space} ({share} %) are gone from the source; "
        "nothing was changed."
    ),
    marked(
        "The source shows none of the {count} pages of space {space} any more; nothing was changed."
    ),
    marked("It may be out of sight only: look whether the token still may read it."),
    marked("If they should be removed, reindex again and allow it; otherwise repair the source."),
    marked("Repair or remove the file, then reindex."),
    marked("The next run tries again."),
    marked("If it keeps failing, fix what is named here."),
    marked("Fix that (python -m ingestion doctor tests it), then reindex everything."),
    marked("{path} is no folder; name an existing one."),
    marked("{path} cannot be listed: {why}."),
    marked(
        "Confluence answers {status} to {request}: it is not there, or the token may not see it."
    ),
    marked("Confluence answers 403 to {request}: the token may not see it."),
    marked("Confluence answers 401 to {request}: it does not take the token."),
    marked(
        "Check CONFLUENCE_TOKEN, whether it has expired, and CONFLUENCE_EMAIL, which API tokens "
        "of Cloud need and others must not have."
    ),
    marked("Confluence answers 401 to {request}: it wants a captcha first."),
    marked("Sign in once in a browser as the token's user."),
    marked("Confluence answers {status} to {request}: too many requests."),
    marked(
        "Confluence answers {status} to {request}: too many requests, and asks to wait {seconds} "
        "seconds."
    ),
    marked("Confluence answers {status} to {request}, and asks to wait {seconds} seconds."),
    marked("Confluence answers {status} to {request}."),
    marked("Try again later."),
    marked("Confluence takes no request for another {seconds} seconds."),
    marked("No answer from {host} to {request}: it took too long."),
    marked("No answer from {host} to {request}: the connection failed or broke."),
    marked("Check CONFLUENCE_URL, the network and HTTPS_PROXY."),
    marked("No trusted connection to {host} for {request}: its certificate is not known here."),
    marked("Name your company's certificates in CONFLUENCE_CA_FILE."),
    marked("{request} was sent on to {host}: that is a login page."),
    marked("{request} was answered with a web page: that is a login page."),
    marked("Check CONFLUENCE_URL."),
    marked("Check CONFLUENCE_URL, and whether the token may be used without single sign-on."),
    marked("There is no Confluence at {address}, or the token may not use it."),
    marked("Check CONFLUENCE_URL, and what the token may read."),
    marked("Page {page} lies deeper than {most} pages."),
    marked("What lies above {page}, a {type}, can't be asked for."),
    marked("{page} is no page but {type}."),
    marked("{page} is no current page, but {text}."),
    marked("Confluence does not say space, version and place of page {page}."),
    marked("Confluence does not say what page {page} hangs under."),
    marked("Confluence does not tell the labels of page {page}."),
    marked("Confluence names no place where {name} is fetched."),
    marked("{request} was answered in a shape that Frontdesk does not know."),
    marked("{request} was answered in a shape that Frontdesk does not know: {text}."),
    marked("{request} was answered with {type} where JSON is due."),
    marked("{request} was answered with more than {most} MB."),
    marked("{request} was answered with what is no whole JSON."),
    marked("{request} was sent on more than {most} times."),
    marked("{request} was sent on to http, which anybody can read."),
    marked("{request} was sent on to what is no web address."),
    marked("{request} was sent on to where it is refused."),
    marked("A listing goes on at {host}, which is not {name}: not followed."),
    marked("A listing goes on at what is no part of the API: {path}."),
    marked("The listing {path} goes round: its parts repeat."),
    marked("The listing {path} has more than {most} parts."),
    marked("The proxy wants a name and password for {request}."),
    marked("Put them into HTTPS_PROXY."),
    marked("Confluence knows nobody with the id {name}."),
    marked("Page {page} is {text}."),
    marked("The token may not see the space with the id {space}."),
    marked("What {request} gives can't be kept here ({text})."),
    marked("Make room."),
    marked("No whole answer to {request} within {seconds} seconds."),
    marked("Confluence answers 410 to {request}: this Confluence has it no more."),
    marked("Look whether there is a newer Frontdesk."),
    marked("{name} has more than {most} MB."),
    marked("Raise CONFLUENCE_ATTACHMENT_MB to read it."),
    marked("{name} came with {count} bytes where Confluence says {expected}."),
    marked("It is tried again."),
    marked("Confluence does not give the text of page {page}."),
    marked("Confluence does not give text and labels of page {page}."),
    marked("Confluence does not say who may read {page}, only that some may."),
    marked("Below {page}: {doubt}."),
    marked("There is no space {space}."),
    marked("Embedding took {tokens} in {requests}{cost}."),
    marked("Embedding {pages} would take about {tokens}{cost}."),
    marked("Embedding {pages} costs tokens."),
    marked("The number of tokens can be estimated once some pages are indexed."),
)

FACTS: Final = (
    marked("is nested too deeply"),
    marked(
        "is too large ({characters} of at most {most} characters, {tags} of at most {most_tags} "
        "tags)"
    ),
    marked("is of no format that can be read ({kinds} are)"),
    marked("is of no type that can be read ({type})"),
    marked("cannot be read: it is damaged"),
    marked("cannot be read: {why}"),
    marked("cannot be read: its text has a form that is not known"),
    marked("cannot be kept to be read: {why}"),
    marked("is encrypted or in the old .doc format"),
    marked("is encrypted or in an old Office format"),
    marked("is rich text (RTF)"),
    marked("is a broken Word document or archive"),
    marked("is a broken Word document"),
    marked("is an Excel workbook"),
    marked("is a PowerPoint file"),
    marked("is an archive"),
    marked("is empty"),
    marked("Markdown, text, HTML, PDF and Word (.docx)"),
    marked("unpacks to more than 200 MB"),
    marked("is encrypted"),
    marked("holds no text, only pictures"),
    marked("is a broken PDF"),
    marked("uses a PDF feature that cannot be read"),
    marked("could not be read"),
    marked("takes too long to be read"),
    marked("takes too much time or memory to read"),
    marked("holds more than {most} MB of text"),
    marked("is no plain file of the folder"),
    marked("grew while it was read"),
    marked("was given other readers meanwhile"),
    marked("was changed while it was read, and others may read it now"),
    marked("was changed while it was read, and includes other pages now"),
    marked("was not listed"),
    marked("changed while it was read"),
    marked("is compressed"),
    marked("does not look like text"),
)
"""What is wrong with a page or file, without its name."""

COUNTS: Final = (
    marked("{count} token"),
    marked("{count} tokens"),
    marked("{count} request"),
    marked("{count} requests"),
    marked("{count} page"),
    marked("{count} pages"),
    marked(", less than $0.01"),
    marked(", ${usd}"),
    marked("; their price is not known"),
)
"""Counts and prices in a sentence."""

CURES: Final = (
    marked("split it"),
    marked("save it again"),
    marked("save it again as .docx"),
    marked("save it as .docx"),
    marked("save it as PDF"),
    marked("save it as UTF-8"),
    marked("save it without a password"),
    marked("unpack it"),
    marked("unpack it and upload the documents in it"),
    marked("upload a document with text"),
    marked("run text recognition (OCR) on it"),
    marked("print it to a new PDF"),
    marked("split it, or save it as plain text"),
    marked("it is too large"),
    marked("the next run takes it"),
    marked("list the space, or this page, first"),
    marked("it is tried again"),
    marked("write everyone, group:NAME, user:ID, or a list of them"),
)
"""What to do about a fact; they follow a semicolon, or are made a sentence."""
