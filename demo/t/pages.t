# The files that the static pages name exist, no file comes from another server, and the compressed
# neighbour of the style sheet has the same content.
use strict;
use warnings;
use FindBin;
use IO::Uncompress::Gunzip qw(gunzip $GunzipError);
use Test::More;

my $demo = "$FindBin::Bin/..";

sub text_of {
    my ($path) = @_;
    open my $file, '<:raw', $path or die "$path: $!";
    local $/;
    return <$file>;
}

# Addresses that the configuration answers, not a file.
my %MAPPED = map { $_ => 1 } qw(cgi fork rewind perlrun registry auto);

for my $page (qw(index.html ladder.html beside.html psgi/index.html)) {
    my $html   = text_of("$demo/$page");
    my $folder = $page =~ m{^(.*)/} ? "$demo/$1" : $demo;
    for my $address ($html =~ /(?:href|src)="([^"]*)"/g) {
        unlike $address, qr{^(?:\w+:|//)}, "$page: $address is of this site";
        ok -e "$folder/$address", "$page: $address exists";
    }
}

for my $address (text_of("$demo/ladder.js") =~ /url: '([^']*)'/g) {
    my ($rung, $rest) = $address =~ m{^(\w+)/(.*)};
    my $file = $rung && $MAPPED{$rung} ? "scripts/$rest" : $address;
    ok -e "$demo/$file", "ladder.js: $address exists";
    next unless $rung;
    like text_of("$demo/mehari.conf"), qr{^Alias /$rung/ }m, "... and mehari.conf maps it";
}

for my $address (text_of("$demo/beside.js") =~ /path: '([^']*)'/g) {
    my ($rung, $rest) = $address =~ m{^(\w+)/(.*)};
    my $file = $rung ? "scripts/$rest" : $address;
    ok -e "$demo/$file", "beside.js: $address exists";
    next unless $rung;
    for my $conf ('mehari.conf', 'lib/serve') {
        like text_of("$demo/$conf"), qr{^Alias /$rung/ }m, "... and $conf maps it";
    }
}

gunzip "$demo/style.css.gz" => \my $unpacked or die $GunzipError;
ok $unpacked eq text_of("$demo/style.css"), 'style.css.gz holds style.css: after a change, gzip -9nkf demo/style.css';

done_testing;
