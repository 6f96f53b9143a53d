# The answers of guestbook.pl. A form is accepted only with the token that this server gave to the
# same browser. An entry is stored by a prepared statement and shown escaped. The answer to a form
# is a redirect (303), so that reloading the page does not post again.
package Demo::Guestbook;
use strict;
use warnings;
use utf8;
use Encode ();
use Demo::Guestbook::Store;
use Demo::Guestbook::Token;
use Demo::Page;

my $LONGEST_NAME    = 60;
my $LONGEST_MESSAGE = 1000;
my $ENTRIES_SHOWN   = 50;

# Returns the whole CGI answer, headers and body, in bytes. form is a CGI object.
sub answer {
    my ($form, $file) = @_;
    my $store = Demo::Guestbook::Store->open($file);
    my $token = Demo::Guestbook::Token->new($store->secret, scalar $form->cookie('guestbook'));
    my $method = $form->request_method // 'GET';
    return page($form, $store, $token, 200) if $method eq 'GET' || $method eq 'HEAD';
    return "Status: 405 Method Not Allowed\nAllow: GET, HEAD, POST\nContent-Type: text/plain\n\nThe guestbook takes GET and POST.\n"
        if $method ne 'POST';
    my %entry   = (name => field($form, 'name'), message => field($form, 'message'));
    my $problem = problem($form, \%entry, $token);
    return page($form, $store, $token, 422, %entry, problem => $problem) if $problem;
    $store->add(@entry{qw(name message)});
    return "Status: 303 See Other\nLocation: " . $form->script_name . "\nContent-Type: text/plain\n\nThank you.\n";
}

# Returns a field as characters: lines end in one newline, surrounding blanks are removed, and bytes
# that are not UTF-8 are replaced.
sub field {
    my ($form, $name) = @_;
    my $text = Encode::decode('UTF-8', scalar($form->param($name)) // '');
    $text =~ s/\r\n?/\n/g;
    $text =~ s/[^\P{Cntrl}\n]//g;
    return $text =~ s/\A\s+|\s+\z//gr;
}

# Returns why the entry is refused, or '' if it is accepted.
sub problem {
    my ($form, $entry, $token) = @_;
    return 'The message is too long.' if $form->cgi_error;
    return 'This form has expired. Please send it again.' unless $token->matches(scalar $form->param('token'));
    return 'Please write a message.' if $entry->{message} eq '';
    return "A name has $LONGEST_NAME characters at most."       if length $entry->{name} > $LONGEST_NAME;
    return "A message has $LONGEST_MESSAGE characters at most." if length $entry->{message} > $LONGEST_MESSAGE;
    return '';
}

sub page {
    my ($form, $store, $token, $status, %shown) = @_;
    my $html = Demo::Page::html(
        title   => 'Guestbook',
        address => 'scripts/guestbook.pl',
        root    => '../',
        content => content($form, $store, $token, %shown),
    );
    my $reason = $status == 200 ? 'OK' : 'Unprocessable Content';
    my $cookie = sprintf 'guestbook=%s; Path=%s; HttpOnly; SameSite=Strict', $token->visitor, $form->script_name;
    return "Status: $status $reason\nContent-Type: text/html; charset=utf-8\nCache-Control: no-store\nSet-Cookie: $cookie\n\n"
        . Encode::encode('UTF-8', $html);
}

sub content {
    my ($form, $store, $token, %shown) = @_;
    my $problem = $shown{problem} ? qq(  <p class="problem" role="alert">$shown{problem}</p>\n) : '';
    my ($name, $message) = map { Demo::Page::escape($shown{$_} // '') } qw(name message);
    my $address = Demo::Page::escape($form->script_name);
    my $count   = $store->count;
    my $entries = join "\n", map { entry($_) } $store->newest($ENTRIES_SHOWN);
    my $said    = $count == 0 ? 'Nobody has written yet. Be the first.' : $count == 1 ? 'One entry.' : "$count entries.";
    return <<"END";
<h1>Guestbook</h1>
<p class="lead">A plain script with DBI and SQLite. Stop the server, start it again: the entries are still here.</p>
<form class="entry" method="post" action="$address" accept-charset="utf-8">
$problem  <input type="hidden" name="token" value="@{[$token->value]}">
  <label>Your name <input name="name" maxlength="$LONGEST_NAME" autocomplete="name" placeholder="Anonymous" value="$name"></label>
  <label>Your message <textarea name="message" maxlength="$LONGEST_MESSAGE" required>$message</textarea></label>
  <button>Sign</button>
</form>
<h2>$said</h2>
<ol class="entries">
$entries
</ol>
END
}

sub entry {
    my ($entry) = @_;
    my ($name, $message, $time) = map { Demo::Page::escape($_) } @{$entry}{qw(name message written)};
    my $shown = ($time =~ s/T/ /r) =~ s/:\d\dZ\z/ UTC/r;
    return qq(<li class="card"><strong>$name</strong> <small><time datetime="$time">$shown</time></small><p>$message</p></li>);
}

1;
