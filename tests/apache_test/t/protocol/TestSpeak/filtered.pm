package TestSpeak::filtered;

# Input and output pass filters that an earlier handler has added to the connection.
use strict;
use warnings FATAL => 'all';
use base 'Apache2::Filter';
use Apache2::Connection ();
use APR::Brigade ();
use APR::Bucket  ();
use APR::Pool    ();
use Apache2::Const -compile => qw(OK DECLINED MODE_GETLINE);
use APR::Const -compile => qw(SUCCESS);

sub before {
    my $c = shift;
    $c->add_input_filter(\&lower);
    $c->add_output_filter(\&counted);
    $c->add_output_filter(\&silent);
    $c->notes->set(begun => 'noted');
    return Apache2::Const::OK;
}

sub lower : FilterConnectionHandler {
    my $f = shift;
    while ($f->read(my $text, 4)) { $f->print(lc $text) }
    return Apache2::Const::OK;
}

sub counted : FilterConnectionHandler {
    my $f = shift;
    $f->ctx(($f->ctx || 0) + 1);
    while ($f->read(my $text, 1024)) { $f->print($f->ctx, ": $text") }
    return Apache2::Const::OK;
}

sub silent : FilterConnectionHandler { return Apache2::Const::DECLINED }

sub handler {
    my $c = shift;
    my $brigade = APR::Brigade->new($c->pool, $c->bucket_alloc);
    while ($c->input_filters->get_brigade($brigade, Apache2::Const::MODE_GETLINE) == APR::Const::SUCCESS) {
        last if $brigade->is_empty;
        $brigade->insert_head(APR::Bucket->new($c->bucket_alloc, $c->notes->get('begun') . ' '));
        $brigade->insert_tail(APR::Bucket::flush_create($c->bucket_alloc));
        $c->output_filters->pass_brigade($brigade);
    }
    return Apache2::Const::OK;
}

1;
__END__
<NoAutoConfig>
<VirtualHost TestSpeak::filtered>
    PerlModule                   TestSpeak::filtered
    PerlPreConnectionHandler     TestSpeak::filtered::before
    PerlProcessConnectionHandler TestSpeak::filtered
</VirtualHost>
</NoAutoConfig>
