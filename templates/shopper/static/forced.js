// Takes the forced outcome out of the address: going back, or loading the page again, does
// not force it a second time, which would end the document check.
const address = new URL(location.href);
address.searchParams.delete("force");
history.replaceState(null, "", address);
